from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dashboard.charts.figures.change_marks import Mark, MarkKind
from dashboard.charts.figures.chart_values import ChartPoint, MetricHistory
from dashboard.charts.figures.lanes import NO_ANNOTATIONS, ChartAnnotations, Episode, Reference
from dashboard.charts.figures.metric import metric_figure
from health.rates import Rate, metric_rate
from probes.outcomes import Metric

START = datetime(2026, 11, 3, 12, tzinfo=UTC)


def test_every_run_with_a_verdict_is_a_marker() -> None:
    """A marker has the rate, the id of the run and its figures."""
    line = _trace(_chart([_run_point(0, Rate(10, 3))]), "Run")

    assert (line["y"], line["customdata"]) == ([0.7], [0])
    assert line["text"] == [
        "70%, 7 of 10 trials<br>95 % interval 39% to 90%<br>"
        "<time>2026-11-03T12:00:00Z</time><br>run 0, light"
    ]


def test_the_band_is_the_interval() -> None:
    """It follows the upper ends and returns along the lower ones."""
    band = _trace(_chart([_run_point(0, Rate(10, 0)), _run_point(1, Rate(10, 5))]), "95 % interval")

    assert band["y"][:4] == pytest.approx([1, 0.7716, 0.2284, 0.7049], abs=1e-4)
    assert band["fill"] == "toself"


def test_a_run_without_a_verdict_is_hollow_and_below_the_axis() -> None:
    """It is not part of the line and is not drawn at 0 %."""
    chart = _chart([_run_point(0, Rate(5, 0)), _run_point(1, None)])

    hollow = _trace(chart, "No verdict")
    assert len(_trace(chart, "Run")["y"]) == 1
    assert (hollow["customdata"], hollow["marker"]["symbol"]) == ([1], "circle-open")
    assert hollow["y"][0] < 0
    assert hollow["text"][0].startswith("no verdict")


def test_a_changed_key_interrupts_the_line() -> None:
    """The line does not connect two profiles, and the change is marked."""
    chart = _chart([_run_point(0, Rate(5, 0)), _run_point(1, Rate(5, 1), epoch=2)])

    assert _trace(chart, "Run")["y"] == [1, None, 0.8]
    assert [shape["x0"] for shape in chart["layout"]["shapes"]] == ["2026-11-03 12:30:00"]
    assert chart["layout"]["annotations"][0]["text"] == "new key, profile 2"


def test_a_changed_fingerprint_is_a_mark_and_its_text_is_escaped() -> None:
    """Markup in what an endpoint reports is shown as text."""
    reported = Mark(START, MarkKind.FINGERPRINT, 'b1 is now <a href="https://x">b2</a>\u202e<time>')

    mark = _trace(
        _chart([_run_point(0, Rate(5, 0))], ChartAnnotations(marks=[reported])), "New fingerprint"
    )

    assert mark["text"] == [
        "b1 is now &lt;a href=&quot;https://x&quot;&gt;b2&lt;/a&gt;⟦U+202E⟧&lt;time&gt;<br>"
        "<time>2026-11-03T12:00:00Z</time>"
    ]


def test_simulated_history_is_labelled() -> None:
    """The demo history cannot be mistaken for a measurement."""
    row = ChartPoint(1, START, 1, START, Rate(5, 0), simulated=True)

    assert "simulated history" in _trace(_chart([row]), "Run")["text"][0]


def test_a_lone_run_shows_its_interval_as_a_bar() -> None:
    """A band of one run has no width, so the interval is drawn as an error bar."""
    alone = _trace(_chart([_run_point(0, Rate(10, 0))]), "Run")["error_y"]
    together = _trace(_chart([_run_point(0, Rate(10, 0)), _run_point(1, Rate(10, 0))]), "Run")[
        "error_y"
    ]

    assert alone["arrayminus"] == pytest.approx([0.2951], abs=1e-4)
    assert together["arrayminus"] == [None, None]


def test_axes_are_named_with_units_and_colours_are_names() -> None:
    """The figure is JSON, names its axes, and leaves colours to the style sheet."""
    chart = _chart([_run_point(0, Rate(5, 0))])

    layout = json.loads(json.dumps(chart))["layout"]
    assert layout["yaxis"]["title"]["text"] == "Rate (%), high is good"
    assert "#" not in json.dumps(chart)


def test_a_metric_where_low_is_good_says_so_and_counts_failures() -> None:
    """Axis and figures show the failure rate, with a hint that low is good."""
    chart = _chart(
        [_run_point(0, metric_rate(Metric.SCHEMA_FAILURE, 10, 1))], metric=Metric.SCHEMA_FAILURE
    )

    layout, line = chart["layout"], _trace(chart, "Run")
    assert layout["yaxis"]["title"]["text"] == "Rate (%), low is good"
    assert (line["y"], line["text"][0][:19]) == ([0.1], "10%, 1 of 10 trials")


def test_live_traffic_is_a_line_of_its_own() -> None:
    """Its points do not link to runs, and are labelled as live traffic."""
    chart = _chart(
        [_run_point(0, Rate(10, 0))],
        live=[_live_point(0, Rate(200, 50)), _live_point(1, Rate(100, 0))],
    )

    line = _trace(chart, "Live traffic")
    assert (line["y"], line.get("customdata")) == ([0.75, 1], None)
    assert line["text"][0].startswith("75%, 150 of 200 trials<br>")
    assert line["text"][0].endswith("and the 1h after<br>live traffic")


@pytest.mark.parametrize(("points", "mode"), [(50, "lines+markers"), (51, "lines")])
def test_a_long_line_of_live_traffic_has_no_markers(points: int, mode: str) -> None:
    """Many markers would hide the runs."""
    live = [_live_point(i, Rate(10, 0)) for i in range(points)]

    assert _trace(_chart(_three_runs(), live=live), "Live traffic")["mode"] == mode


def test_live_traffic_alone_makes_a_chart() -> None:
    """A metric without runs is drawn from live traffic."""
    chart = _chart([], live=[_live_point(0, Rate(200, 50))])

    legend = {trace["name"] for trace in chart["data"] if trace.get("showlegend", True)}
    assert legend == {"Live traffic"}


def test_runs_and_live_traffic_mark_a_changed_key_once() -> None:
    """Also if a step of live traffic starts before the last run under the old key."""
    runs = [
        _run_point(0, Rate(5, 0)),
        _run_point(2, Rate(5, 0)),
        _run_point(3, Rate(5, 0), epoch=2),
    ]

    chart = _chart(runs, live=[_live_point(0, Rate(9, 0)), _live_point(1, Rate(9, 0), epoch=2)])

    assert len(chart["layout"]["shapes"]) == 1


def test_the_title_of_the_time_axis_has_no_standoff() -> None:
    """plotly.js fails on a standoff if the axis has no labels, as on a phone."""
    axis = _chart([_run_point(0, Rate(5, 0))])["layout"]["xaxis"]

    assert "standoff" not in axis["title"]


def test_an_incident_is_a_bar_from_its_opening_to_its_end() -> None:
    """Both ends are marked, it is above every rate, and its text is escaped."""
    end = START + timedelta(hours=2)
    incident = Episode(START, end, "fell <b>far</b>", began="opened", ended="recovered")

    lane = _trace(_chart(_three_runs(), ChartAnnotations(incidents=[incident])), "Incident")

    assert lane["x"] == ["2026-11-03 12:00:00", "2026-11-03 14:00:00", None]
    assert min(y for y in lane["y"] if y is not None) > 1
    assert lane["marker"]["symbol"][:2] == ["square", "square-open"]
    assert lane["text"][0] == (
        "fell &lt;b&gt;far&lt;/b&gt;<br>opened <time>2026-11-03T12:00:00Z</time><br>"
        "recovered <time>2026-11-03T14:00:00Z</time>"
    )


def test_a_mode_that_is_still_on_reaches_the_edge() -> None:
    """The axis includes the last episode, also after the last run."""
    on = Episode(START + timedelta(hours=5), None, "no_tools, by hand", began="on", ended="off")

    chart = _chart(_three_runs(), ChartAnnotations(modes=[on]))

    lane, edge = _trace(chart, "Mode on"), chart["layout"]["xaxis"]["range"][1]
    assert edge > "2026-11-03 17:00:00"
    assert lane["x"][:2] == ["2026-11-03 17:00:00", edge]
    assert lane["text"][0].endswith("and goes on")


def test_maintenance_is_a_band_with_its_name() -> None:
    """The band has a label, and the reason on hover."""
    window = Episode(START, START + timedelta(hours=1), "maintenance: <i>moving</i>")

    layout = _chart(_three_runs(), ChartAnnotations(windows=[window]))["layout"]

    (band,), (label,) = layout["shapes"], layout["annotations"]
    assert (band["x0"], band["x1"]) == ("2026-11-03 12:00:00", "2026-11-03 13:00:00")
    assert label["text"] == "maintenance"
    assert label["hovertext"].startswith("maintenance: &lt;i&gt;moving")


def test_the_reference_is_a_line_with_its_baseline() -> None:
    """It spans the time in which runs were compared with it."""
    reference = Reference(START, START + timedelta(hours=2), 0.95, "reference 95.0%")

    line = _trace(_chart(_three_runs(), ChartAnnotations(references=[reference])), "Reference")

    assert line["y"] == [0.95, 0.95, None]
    assert line["text"][0] == "reference 95.0%"


def test_a_provisional_reference_is_labelled() -> None:
    """A baseline that is not established yet is recognisable."""
    reference = Reference(START, START + timedelta(hours=2), 0.8, "", provisional=True)

    chart = _chart(_three_runs(), ChartAnnotations(references=[reference]))

    assert _trace(chart, "Provisional reference")["y"][0] == 0.8


def test_warning_and_alarm_levels_are_labelled_lines() -> None:
    """They show how far a run may fall before a warning or an alarm."""
    reference = Reference(START, START + timedelta(hours=2), 0.95, "", warn=0.6, alarm=0.5)

    chart = _chart(_three_runs(), ChartAnnotations(references=[reference]))

    assert _trace(chart, "One run here warns")["y"] == [0.6, 0.6, None]
    assert _trace(chart, "Two runs here alarm")["text"][0] == (
        "two runs in a row at 50% or worse raise the alarm"
    )


def test_close_marks_become_one_with_their_count() -> None:
    """Its text lists the first of them; a mark on its own keeps its shape."""
    close = [Mark(START + timedelta(seconds=i), MarkKind.NOTE, f"note {i}") for i in range(8)]
    single = Mark(START + timedelta(hours=1), MarkKind.STAGE, "stage shadow is now read_only")

    chart = _chart(_three_runs(), ChartAnnotations(marks=[*close, single]))

    several = _trace(chart, "Several changes")
    assert several["text"] == ["8"]
    assert several["hovertext"][0].startswith("note 0, <time>2026-11-03T12:00:00Z</time><br>note 1")
    assert several["hovertext"][0].endswith("<br>and 2 more")
    assert _trace(chart, "Note")["x"] == []
    assert len(_trace(chart, "New stage")["x"]) == 1


def test_overlapping_episodes_are_one_bar_with_all_their_texts() -> None:
    """Modes that one incident switched on do not cover each other."""
    end = START + timedelta(hours=1)
    modes = [Episode(START, end, "no_tools"), Episode(START, end, "no_parallel")]
    later = Episode(START + timedelta(hours=2), None, "strict_schema")

    lane = _trace(_chart(_three_runs(), ChartAnnotations(modes=[*modes, later])), "Mode on")

    assert lane["x"].count(None) == 2
    assert "no_tools" in lane["text"][0]
    assert "no_parallel" in lane["text"][0]
    assert "strict_schema" not in lane["text"][0]


def test_a_custom_window_is_the_whole_axis_and_clips_episodes() -> None:
    """A bar that extends beyond the window ends at the edges with an arrow."""
    incident = Episode(START - timedelta(days=1), START + timedelta(days=1), "fell")
    bounds = (START, START + timedelta(hours=3))

    chart = _chart(_three_runs(), ChartAnnotations(incidents=[incident]), bounds=bounds)

    lane = _trace(chart, "Incident")
    assert chart["layout"]["xaxis"]["range"] == ["2026-11-03 12:00:00", "2026-11-03 15:00:00"]
    assert lane["x"] == ["2026-11-03 12:00:00", "2026-11-03 15:00:00", None]
    assert lane["marker"]["symbol"][:2] == ["triangle-left", "triangle-right"]


def test_key_changes_close_together_share_a_label() -> None:
    """Labels do not overlap; each change keeps its line."""
    since = [START, START, START + timedelta(minutes=1), START + timedelta(minutes=2)]
    rows = [ChartPoint(i, START + timedelta(hours=i), i, since[i], Rate(5, 0)) for i in range(4)]

    layout = _chart(rows)["layout"]

    assert len(layout["shapes"]) == 3
    assert [label["text"] for label in layout["annotations"]] == ["3 new keys, to profile 3"]


def test_the_legend_has_only_what_is_drawn() -> None:
    """Without annotations only the runs and their interval are listed."""
    legend = {t["name"] for t in _chart(_three_runs())["data"] if t.get("showlegend", True)}

    assert legend == {"95 % interval", "Run"}


@pytest.mark.parametrize(
    ("before", "after", "place"),
    [
        (0, 0, ("right", "bottom")),
        (5, 0, ("left", "bottom")),
        (10, 10, ("right", "top")),
        (5, 10, ("left", "top")),
        (5, 5, ("right", "bottom")),
    ],
)
def test_the_label_of_a_key_change_avoids_the_line(
    before: int, after: int, place: tuple[str, str]
) -> None:
    """It is placed before or after the change, low or high, where no run is."""
    rows = [_run_point(0, Rate(10, before)), _run_point(1, Rate(10, after), epoch=2)]

    label = _chart(rows)["layout"]["annotations"][0]

    assert (label["xanchor"], label["yanchor"]) == place


def _chart(
    runs: list[ChartPoint],
    annotations: ChartAnnotations = NO_ANNOTATIONS,
    *,
    metric: Metric = Metric.PARSE_SUCCESS,
    live: list[ChartPoint] | None = None,
    bounds: tuple[datetime, datetime] | None = None,
) -> dict[str, Any]:
    return metric_figure(MetricHistory(metric, runs, live or [], annotations, bounds))


def _live_point(i: int, rate: Rate, epoch: int = 1) -> ChartPoint:
    at = START + timedelta(hours=i)
    return ChartPoint(None, at, epoch, START, rate, step=timedelta(hours=1), live=True)


def _three_runs() -> list[ChartPoint]:
    return [_run_point(hour, Rate(10, 0)) for hour in range(3)]


def _run_point(i: int, rate: Rate | None, epoch: int = 1) -> ChartPoint:
    since = START + timedelta(minutes=30) if epoch > 1 else START
    return ChartPoint(i, START + timedelta(hours=i), epoch, since, rate)


def _trace(chart: dict[str, Any], name: str) -> dict[str, Any]:
    return next(trace for trace in chart["data"] if trace["name"] == name)
