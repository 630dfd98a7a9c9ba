"""Reads every endpoint with its status in one query, independent of the number of endpoints.

It reads a few columns of each endpoint and its last run. The metrics are read only for the rows of
one page (fleet_table).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from dashboard.endpoints.summary import EndpointSummary, read_summaries
from dashboard.models.people import Teams
from health.status import Status

WORST_FIRST = {status: place for place, status in enumerate(Status)}


@dataclass(frozen=True)
class Fleet:
    """All endpoints, worst first."""

    summaries: tuple[EndpointSummary, ...]

    @cached_property
    def counts(self) -> Counter[Status]:
        return Counter(summary.status for summary in self.summaries)


def read_fleet(now: datetime, teams: Teams) -> Fleet:
    """Every endpoint of the teams that is not removed, with its status."""
    summaries = read_summaries(now, teams)
    summaries.sort(key=lambda s: (WORST_FIRST[s.status], s.endpoint.slug))
    return Fleet(tuple(summaries))
