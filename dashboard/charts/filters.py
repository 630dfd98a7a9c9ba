"""The query string of a chart: its subject and time window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from dashboard.charts.figures.measure import Measure
from dashboard.core.time_range import TimeRange, TimeWindow, parse_window
from probes.outcomes import Metric

Subject = Metric | Measure


@dataclass(frozen=True, slots=True)
class ChartFilter:
    """A metric or measure in a time window."""

    subject: Subject
    window: TimeWindow

    @property
    def address(self) -> str:
        return _query_string(self.subject, self.window.query)

    @property
    def reset(self) -> str:
        """The query string without a custom window."""
        return self.in_range(self.window.range)

    def of(self, subject: Subject) -> str:
        """The query string of another subject in the same window."""
        return _query_string(subject, self.window.query)

    def in_range(self, span: TimeRange) -> str:
        return _query_string(self.subject, {"range": span.value})


def read_filter(query: Mapping[str, str], now: datetime) -> ChartFilter:
    """An unknown subject becomes parse success."""
    return ChartFilter(find_subject(query.get("metric", "")), parse_window(query, now))


def find_subject(name: str) -> Subject:
    every: tuple[Subject, ...] = (*Metric, *Measure)
    return next((each for each in every if each.value == name), Metric.PARSE_SUCCESS)


def _query_string(subject: Subject, window: Mapping[str, str]) -> str:
    return "?" + urlencode({"metric": subject.value, **window})
