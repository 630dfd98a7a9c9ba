"""The data of the fleet page and of its parts, ready for the templates."""

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
from dashboard.endpoints.as_code.drift import EditedField
from dashboard.endpoints.summary import EndpointSummary
from dashboard.fleet.filters import FLEET_METRICS, STATUSES, FleetFilter, read_filter
from dashboard.fleet.fleet_table import MetricCell, newest_rates, read_cells
from dashboard.fleet.listing import (
    EndpointGroup,
    ListingPage,
    filter_summaries,
    group_rows,
    paginate_summaries,
    sort_summaries,
)
from dashboard.fleet.queries import Fleet, read_fleet
from dashboard.incidents import queries as incidents
from dashboard.models import Incident
from dashboard.models.profile import Stage
from dashboard.rollouts.approvals import PendingDecision, Viewer, read_pending_decisions
from health.status import Status

MOST_INCIDENTS = 5
# Shown even with a count of 0.
_ALWAYS_COUNTED = (Status.FAILING, Status.DEGRADED, Status.STALE, Status.WAITING, Status.HEALTHY)


@dataclass(frozen=True, slots=True)
class FleetRow:
    """An endpoint on the page. Grouped by tag it can have several rows: the key names the group."""

    key: str
    summary: EndpointSummary
    cells: tuple[MetricCell, ...]
    # Fields edited in the UI since a file set them.
    edited: Sequence[EditedField] = ()

    @property
    def state_mark(self) -> str:
        return f"row-{self.key}.{self.summary.digest}"


@dataclass(frozen=True, slots=True)
class FleetSection:
    """A group with its visible rows, or all rows of an ungrouped page."""

    group: EndpointGroup
    rows: tuple[FleetRow, ...]
    # Query string that lists all endpoints of the group.
    address: str

    @property
    def shown_count(self) -> int:
        return len(group_rows(self.group))

    @property
    def has_more(self) -> bool:
        return len(self.group.members) > self.shown_count

    @property
    def state_mark(self) -> str:
        return f"group-{self.group.key}.{self.group.digest}"


@dataclass(frozen=True, slots=True)
class StatusCount:
    """The number of endpoints with a status or stage, and the query string that filters by it."""

    name: str
    count: int
    address: str
    is_on: bool
    status: Status | None = None


@dataclass(frozen=True)
class FleetPage:
    """The fleet as one request filters it and its user may see it."""

    fleet_filter: FleetFilter
    fleet: Fleet
    viewer: Viewer

    @property
    def width(self) -> int:
        """The number of columns of the table."""
        return len(FLEET_METRICS) + 3

    @cached_property
    def listing(self) -> ListingPage:
        fleet_filter = self.fleet_filter
        matching = filter_summaries(self.fleet.summaries, fleet_filter)
        rates = newest_rates(fleet_filter.metric, matching) if fleet_filter.metric else {}
        return paginate_summaries(sort_summaries(matching, fleet_filter, rates), fleet_filter)

    @cached_property
    def counts(self) -> list[StatusCount]:
        """Counts ignore the filter of their own kind, so that other choices keep their numbers."""
        fleet_filter = self.fleet_filter
        matching = filter_summaries(self.fleet.summaries, replace(fleet_filter, status=""))
        status_counts = Counter(summary.status for summary in matching)
        by_status = [
            self._status_count("status", name, status_counts[status], status)
            for name, status in STATUSES.items()
            if status_counts[status] or status in _ALWAYS_COUNTED
        ]
        matching = filter_summaries(self.fleet.summaries, replace(fleet_filter, stage=""))
        shadow = sum(summary.endpoint.stage == Stage.SHADOW for summary in matching)
        return [*by_status, self._status_count("stage", Stage.SHADOW.value, shadow)]

    def _status_count(
        self, kind: str, name: str, count: int, status: Status | None = None
    ) -> StatusCount:
        is_on = getattr(self.fleet_filter, kind) == name
        address = self.fleet_filter.address(**{kind: "" if is_on else name})
        return StatusCount(name, count, address, is_on, status)

    @property
    def counts_mark(self) -> str:
        return f"counts.{_digest([(each.name, each.count) for each in self.counts])}"

    def sections(self) -> list[FleetSection]:
        shown = self.listing.summaries
        cells = read_cells(shown)
        edited = drift.read_drift_by_endpoint(summary.endpoint.pk for summary in shown)
        return [
            FleetSection(
                group,
                tuple(
                    FleetRow(row_key(group, each), each, cells[pk], edited.get(pk, ()))
                    for each in group_rows(group)
                    for pk in (each.endpoint.pk,)
                ),
                self.address_of(group),
            )
            for group in self.listing.groups
        ]

    def address_of(self, group: EndpointGroup) -> str:
        """The query string that lists all endpoints of a group."""
        return self.fleet_filter.address(group="", **{group.by: group.name}) if group.by else ""


def row_key(group: EndpointGroup, summary: EndpointSummary) -> str:
    """Identifies a row in the HTML and in update requests."""
    pk = summary.endpoint.pk
    return f"{pk}-{group.key}" if group.by == "tag" else str(pk)


def read_fleet_page(query: Mapping[str, str], now: datetime, viewer: Viewer) -> FleetPage:
    return FleetPage(read_filter(query), read_fleet(now, viewer.teams), viewer)


@dataclass(frozen=True)
class FleetHeader:
    """Above the list: headline, open incidents, pending decisions."""

    fleet: Fleet
    viewer: Viewer

    @cached_property
    def incidents(self) -> list[incidents.IncidentHeading]:
        open_incidents = incidents.find_incidents(
            incidents.IncidentFilter(state=Incident.State.OPEN), self.viewer.teams
        )
        return [incidents.IncidentHeading(each) for each in open_incidents[:MOST_INCIDENTS]]

    @cached_property
    def decisions(self) -> list[PendingDecision]:
        return read_pending_decisions(self.viewer)

    @property
    def open_count(self) -> int:
        return sum(len(summary.condition.incidents) for summary in self.fleet.summaries)

    @property
    def more_incidents(self) -> int:
        return max(0, self.open_count - len(self.incidents))

    @property
    def headline(self) -> str:
        """What is failing or degraded, then what gives no answer."""
        silent = self._silent_headline
        if silent and not self._bad_count:
            return silent
        return f"{self._health_headline} {silent}".strip()

    @property
    def _bad_count(self) -> int:
        return self.fleet.counts[Status.FAILING] + self.fleet.counts[Status.DEGRADED]

    @property
    def _silent_headline(self) -> str:
        total, counts = len(self.fleet.summaries), self.fleet.counts
        silent = counts[Status.UNREACHABLE] + counts[Status.REFUSED]
        if not silent:
            return ""
        return ngettext(
            "{silent} of {total} endpoints gives no answer: {unreachable} unreachable, "
            "{refused} refused.",
            "{silent} of {total} endpoints give no answer: {unreachable} unreachable, "
            "{refused} refused.",
            silent,
        ).format(
            silent=silent,
            total=total,
            unreachable=counts[Status.UNREACHABLE],
            refused=counts[Status.REFUSED],
        )

    @property
    def _health_headline(self) -> str:
        total, counts, bad = len(self.fleet.summaries), self.fleet.counts, self._bad_count
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
    def state_mark(self) -> str:
        open_now = [
            (each.incident.pk, each.incident.severity, each.incident.acknowledged_at)
            for each in self.incidents
        ]
        facts = (self.headline, self.open_count, open_now, [each.key for each in self.decisions])
        return f"top.{_digest(facts)}"


def filter_chips(fleet_filter: FleetFilter) -> list[tuple[str, str, str]]:
    """Label, value and removing query string of each active filter."""
    labels = {
        "q": _("search"),
        "status": _("status"),
        "provider": _("provider"),
        "model": _("model"),
        "team": _("team"),
        "tag": _("tag"),
        "stage": _("stage"),
    }
    return [
        (label, getattr(fleet_filter, name), fleet_filter.address(**{name: ""}))
        for name, label in labels.items()
        if getattr(fleet_filter, name)
    ]


def filter_choices(fleet: Fleet) -> dict[str, Any]:
    """The options of the filter form with their counts."""
    entries = [summary.endpoint for summary in fleet.summaries]
    return {
        "providers": _count_values(entry.provider for entry in entries),
        "teams": _count_values(entry.team for entry in entries if entry.team),
        "tags": _count_values(tag for entry in entries for tag in entry.tags),
        "stages": _count_values(entry.stage for entry in entries),
    }


def _count_values(values: Iterable[str], most: int = 200) -> list[tuple[str, int]]:
    return sorted(Counter(values).most_common(most))


def _digest(facts: object) -> str:
    return hashlib.blake2b(repr(facts).encode(), digest_size=6).hexdigest()
