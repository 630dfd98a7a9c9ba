"""The time range of a chart, read from the query string."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from django.utils.translation import gettext as _

from dashboard.core.errors import Refused
from dashboard.models.observation import EARLIEST

MIN_SPAN = timedelta(minutes=1)


class TimeRange(StrEnum):
    """How far back a chart reaches."""

    HOUR = "1h"
    HOURS = "6h"
    DAY = "24h"
    WEEK = "7d"
    MONTH = "30d"
    SEASON = "90d"
    YEAR = "1y"
    ALL = "all"

    @property
    def span(self) -> timedelta | None:
        return _SPANS.get(self)


_SPANS = {
    TimeRange.HOUR: timedelta(hours=1),
    TimeRange.HOURS: timedelta(hours=6),
    TimeRange.DAY: timedelta(days=1),
    TimeRange.WEEK: timedelta(days=7),
    TimeRange.MONTH: timedelta(days=30),
    TimeRange.SEASON: timedelta(days=90),
    TimeRange.YEAR: timedelta(days=365),
}


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """From when to when; without a start, from the first run on.

    `range` is what a custom window resets to. `problem` says why the requested window is not shown.
    """

    range: TimeRange
    start: datetime | None
    end: datetime
    is_custom: bool = False
    problem: str = ""

    @property
    def query(self) -> dict[str, str]:
        """The query parameters of this window."""
        base = {"range": self.range.value}
        if not self.is_custom or self.start is None:
            return base
        return {**base, "from": _format_time(self.start), "to": _format_time(self.end)}


def parse_range(name: str) -> TimeRange:
    """The range of that name, else the week."""
    return next((span for span in TimeRange if span.value == name), TimeRange.WEEK)


def parse_window(query: Mapping[str, str], now: datetime) -> TimeWindow:
    """The window of a query; an invalid one is its range, with a problem."""
    preset = _range_window(parse_range(query.get("range", "")), now)
    start, end = query.get("from", ""), query.get("to", "")
    if not start and not end:
        return preset
    try:
        first, last = _parse_bounds(start, end, now)
    except Refused as exc:
        return TimeWindow(preset.range, preset.start, preset.end, problem=exc.message)
    return TimeWindow(preset.range, first, last, is_custom=True)


def _range_window(span: TimeRange, now: datetime) -> TimeWindow:
    return TimeWindow(span, now - span.span if span.span else None, now)


def _parse_bounds(start: str, end: str, now: datetime) -> tuple[datetime, datetime]:
    last = min(_parse_time(end), now) if end else now
    first = _parse_time(start) if start else last - timedelta(days=7)
    if first >= now:
        raise Refused(_("That time has not come yet. Choose one that begins in the past."))
    if end and _parse_time(end) <= first:
        raise Refused(_("The range must end after it begins. Change one of the two times."))
    if last - first < MIN_SPAN:
        raise Refused(_("A range must be at least one minute long."))
    return first, last


def _parse_time(text: str) -> datetime:
    """Parse a time from a form or a link; UTC if it has no offset."""
    try:
        moment = datetime.fromisoformat(text.strip())
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as exc:
        raise Refused(
            _("A time of the range could not be read. Write it like 2026-11-03T12:00.")
        ) from exc
    if moment < EARLIEST:
        raise Refused(_("There is nothing to show so long ago. Choose a later beginning."))
    return moment


def _format_time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
