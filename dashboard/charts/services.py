"""Writing down what happened to an endpoint, by hand or from a deployment."""

from __future__ import annotations

from datetime import datetime, timedelta
from urllib.parse import urlsplit

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from dashboard.audit import services as audit
from dashboard.core import permissions
from dashboard.core.errors import Refused
from dashboard.core.permissions import Right
from dashboard.models import Endpoint, Note
from dashboard.models.audit import Action
from dashboard.models.observation import EARLIEST

LONGEST_TEXT = 500
LONGEST_LINK = 500
# A note may announce what is planned.
FARTHEST = timedelta(days=366)
# All of them are drawn and listed by page; a program that runs wild is stopped here.
MOST_NOTES = 10_000


@transaction.atomic
def add(
    endpoint: Endpoint, *, at: datetime | None, text: str, link: str = "", by: User | None
) -> Note:
    """Put a note at a moment, now unless told; refuses what could not be shown."""
    if Note.objects.kept().filter(endpoint=endpoint).count() >= MOST_NOTES:
        raise Refused(
            _("There are {most} notes already. Remove some first.").format(most=MOST_NOTES)
        )
    note = Note.objects.create(
        endpoint=endpoint,
        at=_moment(at or timezone.now()),
        text=_text(text),
        link=_link(link),
        author=by,
    )
    told = {"at": note.at, "text": note.text, "link": note.link}
    audit.record(Action.NOTE_ADDED, subject=str(note), endpoint=endpoint, by=by, after=told)
    return note


@transaction.atomic
def remove(note: Note, *, by: User | None) -> bool:
    """Take a note away; False where it was gone already. Its author's, or an administrator's.

    What a token without an owner wrote, such a token may take away.
    """
    if note.author_id != (by.pk if by else None) and not _administers(by, note):
        raise Refused(_("Only who wrote a note, or an administrator, may remove it."))
    mine = Note.objects.kept().filter(pk=note.pk)
    if not mine.update(removed_at=Now(), removed_by=by):
        return False
    told = {"at": note.at, "text": note.text, "link": note.link}
    audit.record(Action.NOTE_REMOVED, subject=str(note), endpoint=note.endpoint, by=by, before=told)
    return True


def _administers(person: User | None, note: Note) -> bool:
    if person is None:
        return False
    return permissions.user_actor(person).may(Right.ADMINISTER, note.endpoint.team_id)


def _moment(at: datetime) -> datetime:
    if not EARLIEST <= at <= timezone.now() + FARTHEST:
        raise Refused(_("That time is too far from now. Choose one within the next year."))
    return at


def _text(text: str) -> str:
    text = " ".join(text.replace("\0", "").split())
    if not text:
        raise Refused(_("Write what happened."))
    if len(text) > LONGEST_TEXT:
        raise Refused(_("A note has at most {most} characters.").format(most=LONGEST_TEXT))
    return text


def _link(link: str) -> str:
    """An address that a browser opens and that runs nothing, or none."""
    link = link.strip()
    if not link:
        return ""
    try:
        parts = urlsplit(link)
        is_web = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_web = False
    if not is_web or not link.isprintable() or " " in link or len(link) > LONGEST_LINK:
        raise Refused(
            _("A link begins with http:// or https:// and has at most {most} characters.").format(
                most=LONGEST_LINK
            )
        )
    return link
