from __future__ import annotations

from dashboard.charts.figures.sparkline import HEIGHT, SLOTS, Bar, build_sparkline
from health.rates import Direction, Rate
from health.status import Status


def test_the_height_of_a_bar_is_the_rate() -> None:
    """The oldest run is on the left, and the newest ends at the right edge."""
    spark = build_sparkline([Rate(10, 5), Rate(10, 0)])

    assert spark.bars == (Bar(HEIGHT / 2, Status.DEGRADED), Bar(HEIGHT, Status.HEALTHY))
    assert spark.paths == (
        ("degraded", "M110 12h3.5v12h-3.5z"),
        ("healthy", "M115 0h3.5v24h-3.5z"),
    )
    assert spark.width == 120


def test_a_run_without_a_verdict_is_hollow() -> None:
    """It has its own mark and is counted in the label."""
    spark = build_sparkline([None, Rate(10, 0)])

    assert spark.bars[0].status is Status.NO_VERDICT
    assert spark.label == "Last 2 runs: between 100% and 100%, 1 without a verdict"


def test_bars_of_one_status_are_one_path() -> None:
    """This keeps a page with many endpoints small."""
    spark = build_sparkline([Rate(10, 0), Rate(10, 10), Rate(10, 0)])

    assert [kind for kind, _ in spark.paths] == ["healthy", "failing"]
    assert spark.paths[0][1] == "M105 0h3.5v24h-3.5zM115 0h3.5v24h-3.5z"


def test_a_low_rate_is_healthy_where_low_is_good() -> None:
    """The height is the displayed rate; the colour is its status."""
    low, high = build_sparkline([Rate(10, 0, Direction.LOW), Rate(10, 10, Direction.LOW)]).bars

    assert (low.height, low.status) == (3, Status.HEALTHY)
    assert (high.height, high.status) == (HEIGHT, Status.FAILING)


def test_the_number_of_slots_can_be_set() -> None:
    """The width follows the number of slots, used or not."""
    spark = build_sparkline([Rate(1, 0)] * 40, 30)

    assert (len(spark.bars), spark.width, build_sparkline([]).width) == (30, 150, 120)


def test_only_the_last_runs_are_drawn() -> None:
    """The oldest runs are dropped if there are more runs than slots."""
    spark = build_sparkline([Rate(1, 1)] * 5 + [Rate(1, 0)] * SLOTS)

    assert len(spark.bars) == SLOTS
    assert all(bar.status is Status.HEALTHY for bar in spark.bars)


def test_no_runs_have_a_label() -> None:
    """An empty sparkline has a label too."""
    assert build_sparkline([]).label == "No runs yet"
