"""What has changed on a fleet page that somebody looks at."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from dashboard.endpoints.as_code import drift
from dashboard.fleet import cells as fleet_cells
from dashboard.fleet.fleet_page import Look, Row, Section, Top, row_key
from dashboard.fleet.listing import rows_of

# More than any page holds.
MOST_SEEN = 200
ROW, GROUP = "row-", "group-"
_NAMED = re.compile(r"row-(?P<key>(?P<pk>[0-9]{1,19})(-[0-9a-f]{8})?)")


@dataclass(frozen=True, slots=True)
class News:
    """The parts to write anew; what is None or empty is still as it was seen."""

    rows: tuple[Row, ...]
    groups: tuple[Section, ...]
    top: Top | None
    has_counts: bool
    # Other endpoints, or in another order: the page offers to show it, and keeps what it has.
    has_moved: bool


def since(seen: Mapping[str, str], look: Look) -> News | None:
    """What differs from what was seen; None where nothing does."""
    top = Top(look.fleet, look.viewer)
    news = News(
        rows=_rows(seen, look),
        groups=_groups(seen, look),
        top=None if _is_seen(top.seen, seen) else top,
        has_counts=not _is_seen(look.counts_seen, seen),
        has_moved=_names(look) != [name for name in seen if name.startswith((ROW, GROUP))],
    )
    is_news = news.rows or news.groups or news.top or news.has_counts or news.has_moved
    return news if is_news else None


def _rows(seen: Mapping[str, str], look: Look) -> tuple[Row, ...]:
    """Rows that look different now, also those that the list would not show any more."""
    by_pk = {str(summary.endpoint.pk): summary for summary in look.fleet.summaries}
    changed = {}
    for name, digest in seen.items():
        if (named := _NAMED.fullmatch(name)) is None:
            continue
        summary = by_pk.get(named["pk"])
        if summary is not None and summary.digest != digest:
            changed[named["key"]] = summary
    if not changed:
        return ()
    cells = fleet_cells.cells_of(list({s.endpoint.pk: s for s in changed.values()}.values()))
    edited = drift.of_all(cells)
    return tuple(
        Row(key, s, cells[s.endpoint.pk], edited.get(s.endpoint.pk, ()))
        for key, s in changed.items()
    )


def _groups(seen: Mapping[str, str], look: Look) -> tuple[Section, ...]:
    """Heads of groups whose members do otherwise now."""
    heads = [
        Section(group, (), look.address_of(group))
        for group in look.listing.groups
        if group.by and f"{GROUP}{group.key}" in seen
    ]
    return tuple(head for head in heads if not _is_seen(head.seen, seen))


def _names(look: Look) -> list[str]:
    """What the page would show now, from the top down."""
    names: list[str] = []
    for group in look.listing.groups:
        names += [f"{GROUP}{group.key}"] if group.by else []
        names += [f"{ROW}{row_key(group, summary)}" for summary in rows_of(group)]
    return names


def _is_seen(mark: str, seen: Mapping[str, str]) -> bool:
    name, _, digest = mark.partition(".")
    return seen.get(name) == digest
