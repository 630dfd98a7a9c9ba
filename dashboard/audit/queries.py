"""Reading the audit log: visibility, filters and pages.

An entry about an endpoint is visible to people who may read the endpoints of the team that owned it
then. All others (people, tokens, channels, rules, gates) are visible to administrators.
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
    action: str = ""  # an action, or a group such as "endpoint."
    endpoint: str = ""
    text: str = ""
    # Days or times in UTC, as entered; both ends are included.
    since: str = ""
    until: str = ""
    # The page begins with the entries older, or newer, than this one.
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
    """An entry with its link in the chain."""

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
    """Some entries, the newest first, and the filters of the neighbouring pages."""

    audit_filter: AuditFilter
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
    """All entries that match the filter and that the actor may see, the newest first."""
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
    if Right.ADMINISTER in actor.everywhere:
        return AuditEntry.objects.all()
    return AuditEntry.objects.all().about_endpoints(actor.teams(Right.READ))


def read_audit_page(audit_filter: AuditFilter, actor: Actor, *, size: int = PAGE_SIZE) -> AuditPage:
    """Read a page by entry ids, so that old pages cost no more than new ones. Two queries."""
    entries = filter_entries(audit_filter, actor)
    if audit_filter.after and not audit_filter.before:
        # The next newer page: upwards from its lower end, with one extra row.
        rows = list(entries.filter(pk__gt=audit_filter.after).order_by("id")[: size + 1])
        return _build_page(audit_filter, rows[:size][::-1], newer=len(rows) > size, older=True)
    if audit_filter.before:
        entries = entries.filter(pk__lt=audit_filter.before)
    rows = list(entries[: size + 1])
    return _build_page(
        audit_filter, rows[:size], newer=bool(audit_filter.before), older=len(rows) > size
    )


def read_entry_batches(
    audit_filter: AuditFilter, actor: Actor, *, size: int = BATCH_SIZE
) -> Iterator[tuple[LinkedEntry, ...]]:
    """All matching entries in batches: memory use does not grow with the log."""
    next_filter: AuditFilter | None = replace(audit_filter, before=0, after=0)
    while next_filter:
        page = read_audit_page(next_filter, actor, size=size)
        if page.rows:
            yield page.rows
        next_filter = page.older


def link_entries(entries: Sequence[AuditEntry]) -> tuple[LinkedEntry, ...]:
    """The entries with their links in the chain. One query."""
    links = {link.entry_id: link for link in _read_links(entry.pk for entry in entries)}
    return tuple(LinkedEntry(entry, links.get(entry.pk)) for entry in entries)


def parse_moment(text: str, *, is_end: bool = False) -> datetime | None:
    """Parse a day or a time in UTC; a day as an end means the start of the next day."""
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
    """The text as a JSON body contains it, with quotes and line breaks escaped."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


ACTIONS = tuple(action.value for action in Action)
# The part up to the dot, such as "endpoint.", with all actions of that kind.
GROUPS: Mapping[str, tuple[str, ...]] = {
    group: tuple(action for action in ACTIONS if action.startswith(group))
    for group in dict.fromkeys(f"{action.partition('.')[0]}." for action in ACTIONS)
}
