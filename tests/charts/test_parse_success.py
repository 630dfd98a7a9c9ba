from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dashboard.charts.parse_success import Mark, Row, figure
from health.metrics import Rate

START = datetime(2026, 11, 3, 12, tzinfo=UTC)


def test_every_run_with_a_verdict_is_a_marker() -> None:
    """A marker has the rate, the run's id and the numbers behind it."""
    line = _trace(figure([_row(0, Rate(10, 3))]), "Run")

    assert (line["y"], line["customdata"]) == ([0.7], [0])
    assert line["text"] == [
        "70% parsed, 7 of 10<br>95 % interval 39% to 89%<br>03 Nov 2026 12:00 UTC<br>run 0, light"
    ]


def test_the_band_is_the_interval() -> None:
    """There along the upper ends, back along the lower ones."""
    band = _trace(figure([_row(0, Rate(10, 0)), _row(1, Rate(10, 5))]), "95 % interval")

    assert band["y"][:4] == pytest.approx([1, 0.7676, 0.2324, 0.7135], abs=1e-4)
    assert band["fill"] == "toself"


def test_a_run_without_a_verdict_is_hollow_and_below_the_axis() -> None:
    """It takes no part in the line and is not drawn at 0 %."""
    chart = figure([_row(0, Rate(5, 0)), _row(1, None)])

    hollow = _trace(chart, "No verdict")
    assert len(_trace(chart, "Run")["y"]) == 1
    assert (hollow["customdata"], hollow["marker"]["symbol"]) == ([1], "circle-open")
    assert hollow["y"][0] < 0
    assert hollow["text"][0].startswith("no verdict")


def test_a_changed_key_is_a_seam() -> None:
    """No line crosses from one profile to the next, and the seam is marked."""
    chart = figure([_row(0, Rate(5, 0)), _row(1, Rate(5, 1), epoch=2)])

    assert _trace(chart, "Run")["y"] == [1, None, 0.8]
    assert [shape["x0"] for shape in chart["layout"]["shapes"]] == ["2026-11-03 12:30:00"]
    assert chart["layout"]["annotations"][0]["text"] == "new key, profile 2"


def test_a_changed_fingerprint_is_a_mark_and_its_words_are_inert() -> None:
    """What an endpoint tells about itself explains a change; markup in it stays text."""
    told = Mark(START, "engine", "b1", '<a href="https://x">b2</a>\u202e')

    mark = _trace(figure([_row(0, Rate(5, 0))], [told]), "Fingerprint changed")

    assert mark["text"] == [
        "engine: b1<br>is now &lt;a href=&quot;https://x&quot;&gt;b2&lt;/a&gt;⟦U+202E⟧<br>"
        "03 Nov 2026 12:00 UTC"
    ]


def test_simulated_history_says_so() -> None:
    """Nobody takes the demo's past for a measurement of today."""
    row = Row(1, START, 1, START, Rate(5, 0), simulated=True)

    assert "simulated history" in _trace(figure([row]), "Run")["text"][0]


def test_a_lone_run_shows_its_interval_as_a_bar() -> None:
    """A band of one run has no width, so the interval is drawn as an error bar."""
    alone = _trace(figure([_row(0, Rate(10, 0))]), "Run")["error_y"]
    together = _trace(figure([_row(0, Rate(10, 0)), _row(1, Rate(10, 0))]), "Run")["error_y"]

    assert alone["arrayminus"] == pytest.approx([0.2865], abs=1e-4)
    assert together["arrayminus"] == [None, None]


def test_axes_are_named_with_units_and_colours_are_names() -> None:
    """The figure is JSON, says what its axes are, and leaves colours to the style sheet."""
    chart = figure([_row(0, Rate(5, 0))])

    layout = json.loads(json.dumps(chart))["layout"]
    assert layout["title"]["text"] == "Parse success by run"
    assert layout["xaxis"]["title"]["text"] == "Time (UTC)"
    assert layout["yaxis"]["title"]["text"] == "Parse success (%)"
    assert "#" not in json.dumps(chart)


def _row(i: int, rate: Rate | None, epoch: int = 1) -> Row:
    since = START + timedelta(minutes=30) if epoch > 1 else START
    return Row(i, START + timedelta(hours=i), epoch, since, rate)


def _trace(chart: dict[str, Any], name: str) -> dict[str, Any]:
    return next(trace for trace in chart["data"] if trace["name"] == name)
