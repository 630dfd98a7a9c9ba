"""Adds and removes the notes of an endpoint."""

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

MAX_TEXT_LENGTH = 500
MAX_LINK_LENGTH = 500
# A note may announce a planned change.
MAX_AHEAD = timedelta(days=366)
# Limits a program that writes notes in a loop.
MAX_NOTES = 10_000


@transaction.atomic
def add_note(
    endpoint: Endpoint, *, at: datetime | None, text: str, link: str = "", by: User | None
) -> Note:
    """Add a note at a time, by default now; refuses what pages could not show."""
    if Note.objects.kept().filter(endpoint=endpoint).count() >= MAX_NOTES:
        raise Refused(
            _("There are {most} notes already. Remove some first.").format(most=MAX_NOTES)
        )
    note = Note.objects.create(
        endpoint=endpoint,
        at=_check_time(at or timezone.now()),
        text=_check_text(text),
        link=_check_link(link),
        author=by,
    )
    facts = {"at": note.at, "text": note.text, "link": note.link}
    audit.record(Action.NOTE_ADDED, subject=str(note), endpoint=endpoint, by=by, after=facts)
    return note


@transaction.atomic
def remove_note(note: Note, *, by: User | None) -> bool:
    """Remove a note, as its author or an administrator; False if it was removed already.

    A token without an owner may remove the notes of such tokens.
    """
    if note.author_id != (by.pk if by else None) and not _is_administrator(by, note):
        raise Refused(_("Only who wrote a note, or an administrator, may remove it."))
    mine = Note.objects.kept().filter(pk=note.pk)
    if not mine.update(removed_at=Now(), removed_by=by):
        return False
    facts = {"at": note.at, "text": note.text, "link": note.link}
    audit.record(
        Action.NOTE_REMOVED, subject=str(note), endpoint=note.endpoint, by=by, before=facts
    )
    return True


def _is_administrator(person: User | None, note: Note) -> bool:
    if person is None:
        return False
    return permissions.user_actor(person).may(Right.ADMINISTER, note.endpoint.team_id)


def _check_time(at: datetime) -> datetime:
    if not EARLIEST <= at <= timezone.now() + MAX_AHEAD:
        raise Refused(_("That time is too far from now. Choose one within the next year."))
    return at


def _check_text(text: str) -> str:
    text = " ".join(text.replace("\0", "").split())
    if not text:
        raise Refused(_("Write what happened."))
    if len(text) > MAX_TEXT_LENGTH:
        raise Refused(_("A note has at most {most} characters.").format(most=MAX_TEXT_LENGTH))
    return text


def _check_link(link: str) -> str:
    """An http or https URL, or empty."""
    link = link.strip()
    if not link:
        return ""
    try:
        parts = urlsplit(link)
        is_web = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_web = False
    if not is_web or not link.isprintable() or " " in link or len(link) > MAX_LINK_LENGTH:
        raise Refused(
            _("A link begins with http:// or https:// and has at most {most} characters.").format(
                most=MAX_LINK_LENGTH
            )
        )
    return link
