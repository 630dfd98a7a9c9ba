"""Which span of time a chart looks at, as its address says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from django.utils.translation import gettext as _

from dashboard.core.errors import Refused
from dashboard.runs.observations import EARLIEST

SHORTEST = timedelta(minutes=1)


class Range(StrEnum):
    """How far back a chart looks."""

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
    Range.HOUR: timedelta(hours=1),
    Range.HOURS: timedelta(hours=6),
    Range.DAY: timedelta(days=1),
    Range.WEEK: timedelta(days=7),
    Range.MONTH: timedelta(days=30),
    Range.SEASON: timedelta(days=90),
    Range.YEAR: timedelta(days=365),
}


@dataclass(frozen=True, slots=True)
class Window:
    """From when to when; without a start, from the first run on.

    `range` is where a window that somebody chose by hand goes back to. `problem` says why what
    was asked for could not be shown.
    """

    range: Range
    start: datetime | None
    end: datetime
    is_custom: bool = False
    problem: str = ""

    @property
    def query(self) -> dict[str, str]:
        """What the address has to say for it."""
        named = {"range": self.range.value}
        if not self.is_custom or self.start is None:
            return named
        return {**named, "from": _spelled(self.start), "to": _spelled(self.end)}


def range_named(name: str) -> Range:
    """The range of that name, else the week."""
    return next((span for span in Range if span.value == name), Range.WEEK)


def window_of(query: Mapping[str, str], now: datetime) -> Window:
    """The window that an address asks for; one that makes no sense is its range, with a word."""
    named = _of_range(range_named(query.get("range", "")), now)
    start, end = query.get("from", ""), query.get("to", "")
    if not start and not end:
        return named
    try:
        first, last = _between(start, end, now)
    except Refused as exc:
        return Window(named.range, named.start, named.end, problem=exc.message)
    return Window(named.range, first, last, is_custom=True)


def _of_range(span: Range, now: datetime) -> Window:
    return Window(span, now - span.span if span.span else None, now)


def _between(start: str, end: str, now: datetime) -> tuple[datetime, datetime]:
    last = min(_moment(end), now) if end else now
    first = _moment(start) if start else last - timedelta(days=7)
    if first >= now:
        raise Refused(_("That time has not come yet. Choose one that begins in the past."))
    if end and _moment(end) <= first:
        raise Refused(_("The range must end after it begins. Change one of the two times."))
    if last - first < SHORTEST:
        raise Refused(_("A range must be at least one minute long."))
    return first, last


def _moment(text: str) -> datetime:
    """A time as the form or a link writes it; without an offset it is in UTC."""
    try:
        found = datetime.fromisoformat(text.strip())
        found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError) as exc:
        raise Refused(
            _("A time of the range could not be read. Write it like 2026-11-03T12:00.")
        ) from exc
    if found < EARLIEST:
        raise Refused(_("There is nothing to show so long ago. Choose a later beginning."))
    return found


def _spelled(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
