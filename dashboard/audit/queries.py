"""The audit log as it is read: who may see which entries, filters, a page at a time.

Entries of an endpoint are seen by who may read what its team had then. All others (people, tokens,
channels, rules, gates) are seen by administrators.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta

from dashboard.core.permissions import Actor, Right
from dashboard.core.query_form import QueryFilter, QueryForm, id_field, text_field
from dashboard.models import AuditEntry, AuditLink
from dashboard.models.audit import Action, AuditEntryQuerySet, microseconds

PAGE_SIZE = 50
BATCH_SIZE = 500


@dataclass(frozen=True, slots=True)
class AuditFilter(QueryFilter):
    """Which entries are shown. An empty field does not filter."""

    actor: str = ""
    action: str = ""  # one of them, or a group such as "endpoint."
    endpoint: str = ""
    text: str = ""
    # Days or moments in UTC, as they were given; both ends belong to the span.
    since: str = ""
    until: str = ""
    # The entry next to which the page begins: older ones, or newer ones.
    before: int = 0
    after: int = 0

    @property
    def is_filtered(self) -> bool:
        return bool(self.filters)

    @property
    def filters(self) -> dict[str, str]:
        values = {name: str(getattr(self, name)) for name in FILTERS}
        return {name: value for name, value in values.items() if value}


FILTERS = tuple(field.name for field in fields(AuditFilter) if field.type == "str")


@dataclass(frozen=True, slots=True)
class LinkedEntry:
    """An entry with its place in the chain."""

    entry: AuditEntry
    link: AuditLink | None

    @property
    def seq(self) -> int | None:
        return self.link.seq if self.link else None

    @property
    def digest(self) -> str:
        return self.link.hex if self.link else ""


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Some entries, the newest first; beside them what to ask for to see their neighbours."""

    asked: AuditFilter
    rows: tuple[LinkedEntry, ...]
    newer: AuditFilter | None = None
    older: AuditFilter | None = None


class AuditFilterForm(QueryForm):
    actor = text_field()
    action = text_field()
    endpoint = text_field()
    text = text_field()
    since = text_field(max_length=40)
    until = text_field(max_length=40)
    before = id_field()
    after = id_field()

    def clean_action(self) -> str:
        action = str(self.cleaned_data["action"])
        return action if action in ACTIONS or action in GROUPS else ""

    def clean_since(self) -> str:
        return self._clean_moment("since", is_end=False)

    def clean_until(self) -> str:
        return self._clean_moment("until", is_end=True)

    def _clean_moment(self, name: str, *, is_end: bool) -> str:
        text = str(self.cleaned_data[name])
        return text if parse_moment(text, is_end=is_end) else ""


def read_audit_filter(query: Mapping[str, str]) -> AuditFilter:
    return AuditFilter(**AuditFilterForm(query).read())


def filter_entries(audit_filter: AuditFilter, actor: Actor) -> AuditEntryQuerySet:
    """All entries that the filters fit and the actor may see, the newest first."""
    entries = visible_entries(actor).newest_first()
    if audit_filter.actor:
        entries = entries.filter(actor=audit_filter.actor)
    if audit_filter.action:
        entries = entries.filter(action__in=GROUPS.get(audit_filter.action, (audit_filter.action,)))
    if audit_filter.endpoint:
        entries = entries.of_endpoint(audit_filter.endpoint)
    if start := parse_moment(audit_filter.since):
        entries = entries.filter(at_us__gte=microseconds(start))
    if end := parse_moment(audit_filter.until, is_end=True):
        entries = entries.filter(at_us__lt=microseconds(end))
    return (
        entries.filter(body__icontains=_escape_json(audit_filter.text))
        if audit_filter.text
        else entries
    )


def visible_entries(actor: Actor) -> AuditEntryQuerySet:
    """The entries that somebody may see."""
    if Right.ADMINISTER in actor.everywhere:
        return AuditEntry.objects.all()
    return AuditEntry.objects.all().about_endpoints(actor.teams(Right.READ))


def read_audit_page(audit_filter: AuditFilter, actor: Actor, *, size: int = PAGE_SIZE) -> AuditPage:
    """A page, by the numbers of entries, so that a long past costs no more. Two queries."""
    entries = filter_entries(audit_filter, actor)
    if audit_filter.after and not audit_filter.before:
        # The page just above: from its lower end upwards, one more than is shown.
        rows = list(entries.filter(pk__gt=audit_filter.after).order_by("id")[: size + 1])
        return _build_page(audit_filter, rows[:size][::-1], newer=len(rows) > size, older=True)
    if audit_filter.before:
        entries = entries.filter(pk__lt=audit_filter.before)
    rows = list(entries[: size + 1])
    return _build_page(
        audit_filter, rows[:size], newer=bool(audit_filter.before), older=len(rows) > size
    )


def read_entry_batches(
    audit_filter: AuditFilter, actor: Actor, *, most: int = BATCH_SIZE
) -> Iterator[tuple[LinkedEntry, ...]]:
    """All of them, some at a time: what is in memory does not grow with the log."""
    place: AuditFilter | None = replace(audit_filter, before=0, after=0)
    while place:
        page = read_audit_page(place, actor, size=most)
        if page.rows:
            yield page.rows
        place = page.older


def link_entries(entries: Sequence[AuditEntry]) -> tuple[LinkedEntry, ...]:
    """The entries with their places in the chain. One query."""
    links = {link.entry_id: link for link in _read_links(entry.pk for entry in entries)}
    return tuple(LinkedEntry(entry, links.get(entry.pk)) for entry in entries)


def parse_moment(text: str, *, is_end: bool = False) -> datetime | None:
    """A day or a moment in UTC; the end of a day is the next one's beginning."""
    try:
        at = datetime.fromisoformat(text)
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        return at + timedelta(days=1) if is_end and len(text) == len("2026-01-31") else at
    except (ValueError, OverflowError):
        return None


def _build_page(
    audit_filter: AuditFilter, rows: list[AuditEntry], *, newer: bool, older: bool
) -> AuditPage:
    if not rows:
        return AuditPage(audit_filter, ())
    return AuditPage(
        audit_filter,
        link_entries(rows),
        newer=replace(audit_filter, before=0, after=rows[0].pk) if newer else None,
        older=replace(audit_filter, before=rows[-1].pk, after=0) if older else None,
    )


def _read_links(ids: Iterable[int]) -> Iterable[AuditLink]:
    return AuditLink.objects.filter(entry_id__in=list(ids))


def _escape_json(text: str) -> str:
    """As it stands in a body, where quotes and lines are written with a backslash."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


ACTIONS = tuple(action.value for action in Action)
# What is before the dot, such as "endpoint.": all actions of that kind.
GROUPS: Mapping[str, tuple[str, ...]] = {
    group: tuple(action for action in ACTIONS if action.startswith(group))
    for group in dict.fromkeys(f"{action.partition('.')[0]}." for action in ACTIONS)
}
