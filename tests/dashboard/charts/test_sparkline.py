from __future__ import annotations

from dashboard.charts.figures.sparkline import HEIGHT, SLOTS, Bar, build_sparkline
from health.rates import Direction, Rate
from health.status import Status


def test_bars_are_as_high_as_the_rate() -> None:
    """The oldest run is left, and the newest ends at the right edge."""
    spark = build_sparkline([Rate(10, 5), Rate(10, 0)])

    assert spark.bars == (Bar(HEIGHT / 2, Status.DEGRADED), Bar(HEIGHT, Status.HEALTHY))
    assert spark.paths == (
        ("degraded", "M110 12h3.5v12h-3.5z"),
        ("healthy", "M115 0h3.5v24h-3.5z"),
    )
    assert spark.width == 120


def test_a_run_without_a_verdict_is_hollow() -> None:
    """It has a mark of its own and is counted in the words."""
    spark = build_sparkline([None, Rate(10, 0)])

    assert spark.bars[0].status is Status.NO_VERDICT
    assert spark.label == "Last 2 runs: between 100% and 100%, 1 without a verdict"


def test_bars_of_one_status_are_one_path() -> None:
    """A page of many endpoints stays small."""
    spark = build_sparkline([Rate(10, 0), Rate(10, 10), Rate(10, 0)])

    assert [kind for kind, _ in spark.paths] == ["healthy", "failing"]
    assert spark.paths[0][1] == "M105 0h3.5v24h-3.5zM115 0h3.5v24h-3.5z"


def test_a_metric_that_should_be_low_is_healthy_when_it_is() -> None:
    """Bars are as high as the rate that is shown; the colour says how good that is."""
    low, high = build_sparkline([Rate(10, 0, Direction.LOW), Rate(10, 10, Direction.LOW)]).bars

    assert (low.height, low.status) == (3, Status.HEALTHY)
    assert (high.height, high.status) == (HEIGHT, Status.FAILING)


def test_there_may_be_room_for_more() -> None:
    """The picture is as wide as its places, whether they are taken or not."""
    spark = build_sparkline([Rate(1, 0)] * 40, 30)

    assert (len(spark.bars), spark.width, build_sparkline([]).width) == (30, 150, 120)


def test_only_the_last_runs_are_drawn() -> None:
    """More runs than there is room for drop off at the left."""
    spark = build_sparkline([Rate(1, 1)] * 5 + [Rate(1, 0)] * SLOTS)

    assert len(spark.bars) == SLOTS
    assert all(bar.status is Status.HEALTHY for bar in spark.bars)


def test_no_runs_are_said_to_be_none() -> None:
    """An empty picture has words."""
    assert build_sparkline([]).label == "No runs yet"
