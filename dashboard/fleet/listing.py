"""Which endpoints of the fleet a list shows, in which order and in which groups."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dashboard.fleet.filters import NONE, STATUSES, Asked
from dashboard.fleet.queries import WORST_FIRST, Entry, Summary
from health.rates import Rate
from health.status import Status

# What a page has room for: rows, or groups with the first rows of each.
ROWS, GROUPS, ROWS_A_GROUP = 25, 8, 3
Rates = Mapping[int, Rate]
Key = Callable[[Summary], Any]


@dataclass(frozen=True, slots=True)
class Group:
    """Endpoints that have something in common, and how they do together."""

    by: str
    name: str
    members: tuple[Summary, ...]

    @property
    def key(self) -> str:
        return hashlib.blake2b(f"{self.by}:{self.name}".encode(), digest_size=4).hexdigest()

    @property
    def worst(self) -> Status:
        return min((each.status for each in self.members), key=WORST_FIRST.__getitem__)

    @property
    def counts(self) -> list[tuple[Status, int]]:
        """How many there are of each status that occurs, worst first."""
        found = Counter(each.status for each in self.members)
        return [(status, found[status]) for status in Status if found[status]]

    @property
    def shown(self) -> tuple[Summary, ...]:
        return self.members[:ROWS_A_GROUP]

    @property
    def digest(self) -> str:
        return hashlib.blake2b(repr(self.counts).encode(), digest_size=6).hexdigest()


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of a list. A page beyond the last one is the last one."""

    groups: tuple[Group, ...]
    number: int
    pages: int
    # Of the whole list: endpoints that fit, and what a page counts by.
    total: int
    things: int
    first: int

    @property
    def last(self) -> int:
        grouped = self.groups and self.groups[0].by
        shown = len(self.groups) if grouped else sum(len(g.members) for g in self.groups)
        return self.first + shown - 1

    @property
    def summaries(self) -> list[Summary]:
        """The endpoints that have a row, each once."""
        found = {each.endpoint.pk: each for group in self.groups for each in rows_of(group)}
        return list(found.values())


def rows_of(group: Group) -> tuple[Summary, ...]:
    """The endpoints of a group that have a row on the page."""
    return group.shown if group.by else group.members


def fitting(summaries: Iterable[Summary], asked: Asked) -> list[Summary]:
    """Those that the search and the filters leave."""
    words = asked.q.casefold().split()
    tests: list[Callable[[Summary], bool]] = []
    if words:
        tests.append(lambda s: _has_words(s.endpoint, words))
    if asked.status:
        tests.append(lambda s: s.status is STATUSES[asked.status])
    if asked.provider:
        tests.append(lambda s: s.endpoint.provider == asked.provider)
    if asked.model:
        tests.append(lambda s: s.endpoint.model == asked.model)
    if asked.team:
        tests.append(lambda s: (s.endpoint.team or NONE) == asked.team)
    if asked.tag:
        tests.append(lambda s: asked.tag in (s.endpoint.tags or (NONE,)))
    if asked.stage:
        tests.append(lambda s: s.endpoint.stage == asked.stage)
    left = list(summaries)
    for test in tests:
        left = list(filter(test, left))
    return left


def ordered(summaries: Sequence[Summary], asked: Asked, rates: Rates) -> list[Summary]:
    """In the order asked for; they come worst first. What has no value is last either way."""
    name, backwards = asked.sort.removeprefix("-"), asked.sort.startswith("-")
    if name == "status":
        return list(reversed(summaries)) if backwards else list(summaries)
    key: Key = _KEYS.get(name) or (lambda s: _badness(rates.get(s.endpoint.profile_id)))
    known = [summary for summary in summaries if key(summary) is not None]
    unknown = [summary for summary in summaries if key(summary) is None]
    return sorted(known, key=key, reverse=backwards) + unknown


def page_of(summaries: Sequence[Summary], asked: Asked) -> Listing:
    """The page asked for: of rows, or of groups with the first rows of each."""
    groups = _grouped(summaries, asked.group) if asked.group else []
    things, size = (len(groups), GROUPS) if asked.group else (len(summaries), ROWS)
    pages = max(1, -(-things // size))
    number = min(asked.page, pages)
    start = (number - 1) * size
    if asked.group:
        shown = tuple(groups[start : start + size])
    else:
        rows = tuple(summaries[start : start + size])
        shown = (Group("", "", rows),) if rows else ()
    return Listing(shown, number, pages, len(summaries), things, start + 1)


def _grouped(summaries: Sequence[Summary], by: str) -> list[Group]:
    """The worst group first; an endpoint of several tags is in several groups."""
    found: dict[str, list[Summary]] = {}
    for summary in summaries:
        for name in _names(summary.endpoint, by):
            found.setdefault(name, []).append(summary)
    groups = [Group(by, name, tuple(members)) for name, members in found.items()]
    return sorted(groups, key=lambda group: (WORST_FIRST[group.worst], group.name))


def _names(entry: Entry, by: str) -> Sequence[str]:
    if by == "tag":
        return entry.tags or (NONE,)
    return (getattr(entry, by) or NONE,)


def _has_words(entry: Entry, words: Sequence[str]) -> bool:
    own = (entry.slug, entry.model, entry.provider, entry.base_url, entry.team)
    text = "\n".join((*own, *entry.tags)).casefold()
    return all(word in text for word in words)


def _badness(rate: Rate | None) -> float | None:
    """Whichever way the metric is good, the worst comes first; of equals the best known."""
    return None if rate is None else -rate.failures / rate.trials


_KEYS: Mapping[str, Key] = {
    "name": lambda s: s.endpoint.slug,
    # The newest first.
    "last": lambda s: s.last_ended_at and -s.last_ended_at.timestamp(),
}
