"""Links that work once: the person behind one chooses a password that nobody else knows.

A new person gets one to join, and whoever forgot their password gets one to choose another.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from dashboard.accounts.services import passwords
from dashboard.core.errors import Refused
from dashboard.models import Invitation

LIFETIME = timedelta(days=7)
# 256 random bits: nobody guesses one. By its beginning logs know a secret (config.logs).
_PREFIX = "tg_invite_"
_LINK_TEXT = re.compile(_PREFIX + r"[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class InvitationLink:
    """A new link; its text exists only here and with whoever is told."""

    person: User
    text: str
    is_first: bool  # they have never signed in


def create_link(person: User, *, by: User) -> InvitationLink:
    """A link for somebody without a password, in the caller's transaction; an older one dies."""
    revoke_links(person)
    text = _PREFIX + secrets.token_urlsafe(32)
    Invitation.objects.create(
        person=person, digest=_digest(text), created_by=by, expires_at=Now() + LIFETIME
    )
    return InvitationLink(person, text, is_first=person.last_login is None)


def revoke_links(person: User) -> None:
    """Take back whatever link of theirs is open."""
    Invitation.objects.open().filter(person=person).update(revoked_at=Now())


def find_invitation(text: str) -> Invitation | None:
    """The invitation that a link opens; None for one that never did or no longer does."""
    if not _LINK_TEXT.fullmatch(text):
        return None
    living = Invitation.objects.living().select_related("person")
    return living.filter(digest=_digest(text)).first()


@transaction.atomic
def accept_invitation(text: str, *, password: str) -> User:
    """Use a link up for a password. Refuses one that opens nothing, or was used a moment ago."""
    invitation = find_invitation(text)
    if invitation is None:
        raise Refused(_("This link opens nothing any more."))
    # In the order in which everybody locks: the person first.
    person = User.objects.select_for_update(no_key=True).get(pk=invitation.person_id)
    used = Invitation.objects.living().filter(pk=invitation.pk).update(used_at=Now())
    if not used:
        raise Refused(_("This link opens nothing any more."))
    passwords.set_password(person, password=password)
    return person


def _digest(text: str) -> bytes:
    # Random bits need no slow hash; see dashboard.people.services.tokens.
    return hashlib.sha256(text.encode()).digest()
