"""What the address of a chart asks for: of what, and for which time."""

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
class Asked:
    """A metric, or what runs took, in a window of time."""

    subject: Subject
    window: TimeWindow

    @property
    def address(self) -> str:
        return _address(self.subject, self.window.query)

    @property
    def reset(self) -> str:
        """Back from a window that was chosen by hand."""
        return self.in_range(self.window.range)

    def of(self, subject: Subject) -> str:
        """The same time of something else."""
        return _address(subject, self.window.query)

    def in_range(self, span: TimeRange) -> str:
        return _address(self.subject, {"range": span.value})


def read(query: Mapping[str, str], now: datetime) -> Asked:
    """What is asked for; what nobody knows is parse success."""
    return Asked(subject_named(query.get("metric", "")), parse_window(query, now))


def subject_named(name: str) -> Subject:
    every: tuple[Subject, ...] = (*Metric, *Measure)
    return next((each for each in every if each.value == name), Metric.PARSE_SUCCESS)


def _address(subject: Subject, window: Mapping[str, str]) -> str:
    return "?" + urlencode({"metric": subject.value, **window})
