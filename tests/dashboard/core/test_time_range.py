from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dashboard.charts import filters
from dashboard.charts.figures.measure import Measure
from dashboard.core.time_range import TimeRange, parse_window
from probes.outcomes import Metric

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "span"),
    [
        ("1h", timedelta(hours=1)),
        ("6h", timedelta(hours=6)),
        ("90d", timedelta(days=90)),
        ("1y", timedelta(days=365)),
        ("nonsense", timedelta(days=7)),
    ],
)
def test_a_range_ends_now(name: str, span: timedelta) -> None:
    """An unknown range is the week."""
    window = parse_window({"range": name}, NOW)

    assert (window.start, window.end, window.problem) == (NOW - span, NOW, "")


def test_all_has_no_beginning() -> None:
    """All begins with the first run."""
    assert parse_window({"range": "all"}, NOW).start is None


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("2026-11-03T12:00", "2026-11-04T12:00"),
        ("2026-11-03T12:00:00Z", "2026-11-04T12:00:00Z"),
        ("2026-11-03T13:00:00+01:00", "2026-11-04T20:00+08:00"),
    ],
)
def test_a_window_by_hand_is_in_utc_unless_it_says_otherwise(start: str, end: str) -> None:
    """For the form without scripts, and for links."""
    window = parse_window({"from": start, "to": end, "range": "30d"}, NOW)

    day = datetime(2026, 11, 3, 12, tzinfo=UTC)
    assert (window.start, window.end) == (day, day + timedelta(days=1))
    assert (window.is_custom, window.range) == (True, TimeRange.MONTH)


@pytest.mark.parametrize(
    ("start", "end", "problem"),
    [
        ("2026-11-04T12:00", "2026-11-03T12:00", "end after it begins"),
        ("2026-11-04T12:00", "2026-11-04T12:00:30", "one minute"),
        ("<script>", "2026-11-03T12:00", "could not be read"),
        ("2026-11-03T12:00", "9" * 400, "could not be read"),
        ("1026-11-03T12:00", "2026-11-03T12:00", "so long ago"),
        ("0001-01-01T00:00+14:00", "", "could not be read"),
        ("2027-11-03T12:00", "2028-11-03T12:00", "not come yet"),
    ],
)
def test_a_window_without_sense_is_its_range_with_a_word(
    start: str, end: str, problem: str
) -> None:
    """An invalid window shows its range and the problem, not an error page."""
    window = parse_window({"from": start, "to": end, "range": "24h"}, NOW)

    assert problem in window.problem
    assert (window.is_custom, window.start) == (False, NOW - timedelta(days=1))


def test_an_end_that_lies_ahead_is_now() -> None:
    """A window that ends in the future ends now."""
    window = parse_window({"from": "2026-11-16T10:00", "to": "2030-01-01T00:00"}, NOW)

    assert window.end == NOW


def test_links_keep_the_window_and_a_range_leaves_it() -> None:
    """Links to other metrics keep the window; the reset returns to the range."""
    query = {"metric": "leak", "range": "30d", "from": "2026-11-03T12:00", "to": "2026-11-04T12:00"}
    chart_filter = filters.read_filter(query, NOW)
    window = "from=2026-11-03T12%3A00%3A00Z&to=2026-11-04T12%3A00%3A00Z"

    assert chart_filter.of(Measure.COST) == f"?metric=cost&range=30d&{window}"
    assert chart_filter.in_range(TimeRange.DAY) == "?metric=leak&range=24h"
    assert chart_filter.reset == "?metric=leak&range=30d"
    assert filters.read_filter({"metric": "<b>"}, NOW).subject is Metric.PARSE_SUCCESS
