"""The parts of an open fleet page that changed since the browser received them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from dashboard.endpoints.as_code import drift
from dashboard.fleet.fleet_page import FleetHeader, FleetPage, FleetRow, FleetSection, row_key
from dashboard.fleet.fleet_table import read_cells
from dashboard.fleet.listing import group_rows

# More parts than any page has.
MAX_SEEN = 200
ROW, GROUP = "row-", "group-"
_ROW_NAME = re.compile(r"row-(?P<key>(?P<pk>[0-9]{1,19})(-[0-9a-f]{8})?)")


@dataclass(frozen=True, slots=True)
class FleetUpdate:
    """The parts to replace; None or empty means unchanged."""

    rows: tuple[FleetRow, ...]
    groups: tuple[FleetSection, ...]
    header: FleetHeader | None
    has_counts: bool
    # Other endpoints or another order: the page offers a reload and keeps its rows.
    has_moved: bool


def changes_since(seen: Mapping[str, str], page: FleetPage) -> FleetUpdate | None:
    """`seen` has the digest of each part by its name; None if nothing changed."""
    header = FleetHeader(page.fleet, page.viewer)
    update = FleetUpdate(
        rows=_changed_rows(seen, page),
        groups=_changed_groups(seen, page),
        header=None if _is_seen(header.state_mark, seen) else header,
        has_counts=not _is_seen(page.counts_mark, seen),
        has_moved=_page_names(page) != [name for name in seen if name.startswith((ROW, GROUP))],
    )
    has_changes = (
        update.rows or update.groups or update.header or update.has_counts or update.has_moved
    )
    return update if has_changes else None


def _changed_rows(seen: Mapping[str, str], page: FleetPage) -> tuple[FleetRow, ...]:
    """Changed rows, including rows that no longer match the filter."""
    by_pk = {str(summary.endpoint.pk): summary for summary in page.fleet.summaries}
    changed = {}
    for name, digest in seen.items():
        if (named := _ROW_NAME.fullmatch(name)) is None:
            continue
        summary = by_pk.get(named["pk"])
        if summary is not None and summary.digest != digest:
            changed[named["key"]] = summary
    if not changed:
        return ()
    cells = read_cells(list({s.endpoint.pk: s for s in changed.values()}.values()))
    edited = drift.read_drift_by_endpoint(cells)
    return tuple(
        FleetRow(key, s, cells[s.endpoint.pk], edited.get(s.endpoint.pk, ()))
        for key, s in changed.items()
    )


def _changed_groups(seen: Mapping[str, str], page: FleetPage) -> tuple[FleetSection, ...]:
    """Headers of groups whose counts changed."""
    headers = [
        FleetSection(group, (), page.address_of(group))
        for group in page.listing.groups
        if group.by and f"{GROUP}{group.key}" in seen
    ]
    return tuple(header for header in headers if not _is_seen(header.state_mark, seen))


def _page_names(page: FleetPage) -> list[str]:
    """The names of rows and groups in the order of the current page."""
    names: list[str] = []
    for group in page.listing.groups:
        names += [f"{GROUP}{group.key}"] if group.by else []
        names += [f"{ROW}{row_key(group, summary)}" for summary in group_rows(group)]
    return names


def _is_seen(mark: str, seen: Mapping[str, str]) -> bool:
    name, _, digest = mark.partition(".")
    return seen.get(name) == digest
