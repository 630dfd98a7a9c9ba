from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from dashboard.charts.figures.compare import CompareLine, ComparePoint, compare_figure
from health.rates import Direction, Rate

START = datetime(2026, 11, 3, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def test_every_endpoint_is_a_line_of_its_own() -> None:
    """Six lines differ in colour, dash and marker."""
    lines = [CompareLine(f"e-{place}", [_point(0)]) for place in range(6)]

    traces = compare_figure(lines, "Parse success", HOUR)["data"]

    assert [trace["name"] for trace in traces] == ["e-0", "e-1", "e-2", "e-3", "e-4", "e-5"]
    for style in ("color", "dash"):
        assert len({trace["line"][style] for trace in traces}) == 6
    assert len({trace["marker"]["symbol"] for trace in traces}) == 6


def test_a_point_has_its_figures_on_hover() -> None:
    """The hover text has rate, numerator, denominator, interval, time and profile."""
    [line] = compare_figure([CompareLine("e", [_point(0, failures=3)])], "Parse success", HOUR)[
        "data"
    ]

    assert line["y"] == [0.7]
    assert line["text"] == [
        "<b>e</b><br>70%, 7 of 10<br>95 % interval 39% to 90%<br>"
        "<time>2026-11-03T12:00:00Z</time> and the 1h after, profile 1"
    ]


def test_a_metric_where_low_is_good_is_drawn_as_displayed() -> None:
    """Three failures of ten are drawn at 30 %, not at 70 %."""
    point = ComparePoint(START, 1, Rate(10, 3, Direction.LOW))

    [line] = compare_figure([CompareLine("e", [point])], "Schema failures", HOUR)["data"]

    assert line["y"] == [0.3]


def test_a_line_is_interrupted_at_a_new_key() -> None:
    """Results under different keys are not connected."""
    compared = CompareLine("e", [_point(0), _point(1), _point(2, epoch=2)])

    [line] = compare_figure([compared], "Parse success", HOUR)["data"]

    assert line["y"] == [1, 1, None, 1]


def test_an_endpoint_without_points_keeps_its_place() -> None:
    """It is in the legend, and the lines after it keep their colours."""
    empty, full = compare_figure(
        [CompareLine("empty", []), CompareLine("full", [_point(0)])], "Parse success", HOUR
    )["data"]

    assert list(empty["x"]) == []
    assert full["line"]["color"] == "var(--compare-2)"


def test_a_name_is_escaped_and_the_figure_is_json() -> None:
    """Plotly would interpret markup in a name."""
    chart = compare_figure([CompareLine("<b>e</b>\u202e", [_point(0)])], "Parse success", HOUR)

    assert chart["data"][0]["name"] == "&lt;b&gt;e&lt;/b&gt;⟦U+202E⟧"
    assert json.loads(json.dumps(chart))["layout"]["yaxis"]["title"]["text"] == "Parse success (%)"


def _point(hours: int, *, failures: int = 0, epoch: int = 1) -> ComparePoint:
    return ComparePoint(START + hours * HOUR, epoch, Rate(10, failures))
