"""One-time links to set a password: for new people, and for people who forgot theirs."""

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
# 256 random bits, too many to guess. Logs recognise the secret by its prefix (config.logs).
_PREFIX = "tg_invite_"
_LINK_TEXT = re.compile(_PREFIX + r"[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class InvitationLink:
    """A new link; its text is stored nowhere else."""

    person: User
    text: str
    is_first: bool  # they have never signed in


def create_link(person: User, *, by: User) -> InvitationLink:
    """Create a link, in the caller's transaction, and revoke an older one."""
    revoke_links(person)
    text = _PREFIX + secrets.token_urlsafe(32)
    Invitation.objects.create(
        person=person, digest=_digest(text), created_by=by, expires_at=Now() + LIFETIME
    )
    return InvitationLink(person, text, is_first=person.last_login is None)


def revoke_links(person: User) -> None:
    Invitation.objects.open().filter(person=person).update(revoked_at=Now())


def find_invitation(text: str) -> Invitation | None:
    """The invitation of a link; None for a link that does not work, or no longer."""
    if not _LINK_TEXT.fullmatch(text):
        return None
    usable = Invitation.objects.living().select_related("person")
    return usable.filter(digest=_digest(text)).first()


def accept_invitation(text: str, *, password: str) -> User:
    """Set a password with a link. Refuses a link that does not work, or no longer."""
    invitation = find_invitation(text)
    if invitation is None:
        raise Refused(_("This link opens nothing any more."))
    return _use_invitation(invitation, passwords.hash_password(invitation.person, password))


@transaction.atomic
def _use_invitation(invitation: Invitation, hashed: str) -> User:
    # The person first: every caller locks in this order.
    person = User.objects.select_for_update(no_key=True).get(pk=invitation.person_id)
    used = Invitation.objects.living().filter(pk=invitation.pk).update(used_at=Now())
    if not used:
        raise Refused(_("This link opens nothing any more."))
    passwords.store_password(person, hashed)
    return person


def _digest(text: str) -> bytes:
    # Random bits need no slow hash; see dashboard.people.services.tokens.
    return hashlib.sha256(text.encode()).digest()
