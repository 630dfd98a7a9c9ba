"""Filters, sorts, groups and paginates the endpoints of the fleet."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from dashboard.core.safe_text import visible
from dashboard.endpoints.summary import EndpointSummary, FleetEndpoint
from dashboard.fleet.filters import NONE, STATUSES, FleetFilter
from dashboard.fleet.queries import WORST_FIRST
from health.rates import Rate
from health.status import Status

# A page holds rows, or groups with the first rows of each.
ROWS_PER_PAGE, GROUPS_PER_PAGE, ROWS_PER_GROUP = 25, 8, 3
Rates = Mapping[int, Rate]
SortKey = Callable[[EndpointSummary], Any]


@dataclass(frozen=True, slots=True)
class EndpointGroup:
    """Endpoints with the same value of `by`. Without grouping `by` is empty."""

    by: str
    name: str
    members: tuple[EndpointSummary, ...]

    @property
    def key(self) -> str:
        return hashlib.blake2b(f"{self.by}:{self.name}".encode(), digest_size=4).hexdigest()

    @property
    def label(self) -> str:
        if self.name != NONE:
            return visible(self.name)
        return _("without a team") if self.by == "team" else _("without a tag")

    @property
    def worst(self) -> Status:
        return min((each.status for each in self.members), key=WORST_FIRST.__getitem__)

    @property
    def counts(self) -> list[tuple[Status, int]]:
        """The number of members per status that occurs, worst first."""
        by_status = Counter(each.status for each in self.members)
        return [(status, by_status[status]) for status in Status if by_status[status]]

    @property
    def first_members(self) -> tuple[EndpointSummary, ...]:
        return self.members[:ROWS_PER_GROUP]

    @property
    def digest(self) -> str:
        return hashlib.blake2b(repr(self.counts).encode(), digest_size=6).hexdigest()


@dataclass(frozen=True, slots=True)
class ListingPage:
    """One page of the list. A number beyond the last page is the last page."""

    groups: tuple[EndpointGroup, ...]
    number: int
    pages: int
    # Of the whole list: matching endpoints, and the items that pages divide (endpoints or groups).
    total: int
    item_count: int
    first: int

    @property
    def last(self) -> int:
        grouped = self.groups and self.groups[0].by
        shown = len(self.groups) if grouped else sum(len(g.members) for g in self.groups)
        return self.first + shown - 1

    @property
    def summaries(self) -> list[EndpointSummary]:
        """The endpoints with a row on this page, each once."""
        by_id = {each.endpoint.pk: each for group in self.groups for each in group_rows(group)}
        return list(by_id.values())


def group_rows(group: EndpointGroup) -> tuple[EndpointSummary, ...]:
    """The endpoints of a group that have a row on the page."""
    return group.first_members if group.by else group.members


def filter_summaries(
    summaries: Iterable[EndpointSummary], fleet_filter: FleetFilter
) -> list[EndpointSummary]:
    words = fleet_filter.q.casefold().split()
    tests: list[Callable[[EndpointSummary], bool]] = []
    if words:
        tests.append(lambda s: _has_words(s.endpoint, words))
    if fleet_filter.status:
        tests.append(lambda s: s.status is STATUSES[fleet_filter.status])
    if fleet_filter.provider:
        tests.append(lambda s: s.endpoint.provider == fleet_filter.provider)
    if fleet_filter.model:
        tests.append(lambda s: s.endpoint.model == fleet_filter.model)
    if fleet_filter.team:
        tests.append(lambda s: (s.endpoint.team or NONE) == fleet_filter.team)
    if fleet_filter.tag:
        tests.append(lambda s: fleet_filter.tag in (s.endpoint.tags or (NONE,)))
    if fleet_filter.stage:
        tests.append(lambda s: s.endpoint.stage == fleet_filter.stage)
    remaining = list(summaries)
    for test in tests:
        remaining = list(filter(test, remaining))
    return remaining


def sort_summaries(
    summaries: Sequence[EndpointSummary], fleet_filter: FleetFilter, rates: Rates
) -> list[EndpointSummary]:
    """Expects `summaries` worst first. Endpoints without a value come last in both directions."""
    name, backwards = fleet_filter.sort.removeprefix("-"), fleet_filter.sort.startswith("-")
    if name == "status":
        return list(reversed(summaries)) if backwards else list(summaries)
    key: SortKey = _SORT_KEYS.get(name) or (
        lambda s: _failure_key(rates.get(s.endpoint.profile_id))
    )
    known = [summary for summary in summaries if key(summary) is not None]
    unknown = [summary for summary in summaries if key(summary) is None]
    return sorted(known, key=key, reverse=backwards) + unknown


def paginate_summaries(
    summaries: Sequence[EndpointSummary], fleet_filter: FleetFilter
) -> ListingPage:
    groups = _group_summaries(summaries, fleet_filter.group) if fleet_filter.group else []
    item_count, size = (
        (len(groups), GROUPS_PER_PAGE) if fleet_filter.group else (len(summaries), ROWS_PER_PAGE)
    )
    pages = max(1, -(-item_count // size))
    number = min(fleet_filter.page, pages)
    start = (number - 1) * size
    if fleet_filter.group:
        page_groups = tuple(groups[start : start + size])
    else:
        rows = tuple(summaries[start : start + size])
        page_groups = (EndpointGroup("", "", rows),) if rows else ()
    return ListingPage(page_groups, number, pages, len(summaries), item_count, start + 1)


def _group_summaries(summaries: Sequence[EndpointSummary], by: str) -> list[EndpointGroup]:
    """Worst group first. An endpoint with several tags is in several groups."""
    members_by_name: dict[str, list[EndpointSummary]] = {}
    for summary in summaries:
        for name in _group_names(summary.endpoint, by):
            members_by_name.setdefault(name, []).append(summary)
    groups = [EndpointGroup(by, name, tuple(members)) for name, members in members_by_name.items()]
    return sorted(groups, key=lambda group: (WORST_FIRST[group.worst], group.name))


def _group_names(entry: FleetEndpoint, by: str) -> Sequence[str]:
    if by == "tag":
        return entry.tags or (NONE,)
    return (getattr(entry, by) or NONE,)


def _has_words(entry: FleetEndpoint, words: Sequence[str]) -> bool:
    own = (entry.slug, entry.model, entry.provider, entry.base_url, entry.team)
    text = "\n".join((*own, *entry.tags)).casefold()
    return all(word in text for word in words)


def _failure_key(rate: Rate | None) -> float | None:
    """Sorts the highest share of failures first, for metrics of either direction."""
    return None if rate is None else -rate.failures / rate.trials


_SORT_KEYS: Mapping[str, SortKey] = {
    "name": lambda s: s.endpoint.slug,
    # Newest first.
    "last": lambda s: s.last_ended_at and -s.last_ended_at.timestamp(),
}
