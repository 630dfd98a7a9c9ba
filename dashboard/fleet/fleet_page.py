"""The fleet page and its parts: what was asked for, as rows that templates only have to write."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.endpoints.as_code import drift
from dashboard.endpoints.as_code.drift import Edited
from dashboard.fleet import cells as fleet_cells
from dashboard.fleet import listing as fleet_lists
from dashboard.fleet import queries as fleet
from dashboard.fleet.cells import Cell
from dashboard.fleet.filters import SHOWN, STATUSES, Asked, asked_by
from dashboard.fleet.listing import Group, Listing
from dashboard.fleet.queries import Fleet, Summary
from dashboard.incidents import queries as incidents
from dashboard.models import Incident
from dashboard.models.profile import Stage
from dashboard.rollouts import approvals as decisions
from dashboard.rollouts.approvals import Viewer
from health.status import Status

MOST_INCIDENTS = 5
# Counted even where there is none: what people look for first.
_ALWAYS = (Status.FAILING, Status.DEGRADED, Status.STALE, Status.WAITING, Status.HEALTHY)


@dataclass(frozen=True, slots=True)
class Row:
    """An endpoint on the page. Grouped by tag it has several, so its key names the group."""

    key: str
    summary: Summary
    cells: tuple[Cell, ...]
    # What was edited here since a file set it.
    edited: Sequence[Edited] = ()

    @property
    def seen(self) -> str:
        return f"row-{self.key}.{self.summary.digest}"


@dataclass(frozen=True, slots=True)
class Section:
    """A group with the rows that it shows, or all rows where nothing is grouped."""

    group: Group
    rows: tuple[Row, ...]
    # Leads to all endpoints of the group.
    address: str

    @property
    def shown(self) -> int:
        return len(fleet_lists.rows_of(self.group))

    @property
    def has_more(self) -> bool:
        return len(self.group.members) > self.shown

    @property
    def seen(self) -> str:
        return f"group-{self.group.key}.{self.group.digest}"


@dataclass(frozen=True, slots=True)
class Counted:
    """How many endpoints have a status or a stage, and the address that shows these alone."""

    name: str
    count: int
    address: str
    is_on: bool
    status: Status | None = None


@dataclass(frozen=True)
class Look:
    """What one request sees of the fleet."""

    asked: Asked
    fleet: Fleet
    viewer: Viewer

    @property
    def width(self) -> int:
        """How many columns the table has."""
        return len(SHOWN) + 3

    @cached_property
    def listing(self) -> Listing:
        asked = self.asked
        chosen = fleet_lists.fitting(self.fleet.summaries, asked)
        rates = fleet_cells.newest(asked.metric, chosen) if asked.metric else {}
        return fleet_lists.page_of(fleet_lists.ordered(chosen, asked, rates), asked)

    @cached_property
    def counts(self) -> list[Counted]:
        """Of what search and filters leave, apart from the filter that a count stands for."""
        asked = self.asked
        left = fleet_lists.fitting(self.fleet.summaries, replace(asked, status=""))
        found = Counter(summary.status for summary in left)
        by_status = [
            self._counted("status", name, found[status], status)
            for name, status in STATUSES.items()
            if found[status] or status in _ALWAYS
        ]
        left = fleet_lists.fitting(self.fleet.summaries, replace(asked, stage=""))
        shadow = sum(summary.endpoint.stage == Stage.SHADOW for summary in left)
        return [*by_status, self._counted("stage", Stage.SHADOW.value, shadow)]

    def _counted(self, kind: str, name: str, count: int, status: Status | None = None) -> Counted:
        is_on = getattr(self.asked, kind) == name
        address = self.asked.address(**{kind: "" if is_on else name})
        return Counted(name, count, address, is_on, status)

    @property
    def counts_seen(self) -> str:
        return f"counts.{_digest([(each.name, each.count) for each in self.counts])}"

    def sections(self) -> list[Section]:
        """The groups of the page with their rows."""
        shown = self.listing.summaries
        cells = fleet_cells.cells_of(shown)
        edited = drift.of_all(summary.endpoint.pk for summary in shown)
        return [
            Section(
                group,
                tuple(
                    Row(row_key(group, each), each, cells[pk], edited.get(pk, ()))
                    for each in fleet_lists.rows_of(group)
                    for pk in (each.endpoint.pk,)
                ),
                self.address_of(group),
            )
            for group in self.listing.groups
        ]

    def address_of(self, group: Group) -> str:
        """Where all endpoints of a group are."""
        return self.asked.address(group="", **{group.by: group.name}) if group.by else ""


def row_key(group: Group, summary: Summary) -> str:
    """What names a row, on the page and when it is asked for anew."""
    pk = summary.endpoint.pk
    return f"{pk}-{group.key}" if group.by == "tag" else str(pk)


def look(query: Mapping[str, str], now: datetime, viewer: Viewer) -> Look:
    """What somebody may see of the fleet as it is now, through what an address asks for."""
    return Look(asked_by(query), fleet.read(now, viewer.teams), viewer)


@dataclass(frozen=True)
class Top:
    """What stands above the list: the finding, what is open, what waits for a person."""

    fleet: Fleet
    viewer: Viewer

    @cached_property
    def incidents(self) -> list[incidents.Titled]:
        found = incidents.found(incidents.Wanted(state=Incident.State.OPEN), self.viewer.teams)
        return [incidents.Titled(each) for each in found[:MOST_INCIDENTS]]

    @cached_property
    def decisions(self) -> list[decisions.Decision]:
        return decisions.pending(self.viewer)

    @property
    def open_count(self) -> int:
        return sum(len(summary.condition.incidents) for summary in self.fleet.summaries)

    @property
    def more(self) -> int:
        return max(0, self.open_count - len(self.incidents))

    @property
    def finding(self) -> str:
        """The state of the whole in one sentence."""
        total, counts = len(self.fleet.summaries), self.fleet.counts
        bad = counts[Status.FAILING] + counts[Status.DEGRADED]
        if not bad:
            return ngettext(
                "The one endpoint holds what is normal for it.",
                "None of {total} endpoints is failing or degraded.",
                total,
            ).format(total=total)
        return ngettext(
            "{bad} of {total} endpoints is worse than it should be: {failing} failing, "
            "{degraded} degraded.",
            "{bad} of {total} endpoints are worse than they should be: {failing} failing, "
            "{degraded} degraded.",
            bad,
        ).format(
            bad=bad,
            total=total,
            failing=counts[Status.FAILING],
            degraded=counts[Status.DEGRADED],
        )

    @property
    def seen(self) -> str:
        open_now = [
            (each.incident.pk, each.incident.severity, each.incident.acknowledged_at)
            for each in self.incidents
        ]
        facts = (self.finding, self.open_count, open_now, [each.key for each in self.decisions])
        return f"top.{_digest(facts)}"


def chips(asked: Asked) -> list[tuple[str, str, str]]:
    """Each filter that is on: what it is, its value, and the address without it."""
    named = {
        "q": _("search"),
        "status": _("status"),
        "provider": _("provider"),
        "model": _("model"),
        "team": _("team"),
        "tag": _("tag"),
        "stage": _("stage"),
    }
    return [
        (words, getattr(asked, name), asked.address(**{name: ""}))
        for name, words in named.items()
        if getattr(asked, name)
    ]


def choices(found: Fleet) -> dict[str, Any]:
    """What the filters offer: what occurs, with how often."""
    entries = [summary.endpoint for summary in found.summaries]
    return {
        "providers": _counted(entry.provider for entry in entries),
        "teams": _counted(entry.team for entry in entries if entry.team),
        "tags": _counted(tag for entry in entries for tag in entry.tags),
        "stages": _counted(entry.stage for entry in entries),
    }


def _counted(values: Iterable[str], most: int = 200) -> list[tuple[str, int]]:
    return sorted(Counter(values).most_common(most))


def _digest(facts: object) -> str:
    return hashlib.blake2b(repr(facts).encode(), digest_size=6).hexdigest()
