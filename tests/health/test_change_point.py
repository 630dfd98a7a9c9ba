"""The runs since a degradation began."""

from __future__ import annotations

import pytest

from health.change_point import RunCount, mean_rate, runs_since_change
from health.detector import LIVE, PROBE

GOOD, FULL, DEAD = (11, 11), (46, 46), (0, 11)


@pytest.mark.parametrize(
    ("runs", "since"),
    [
        ([GOOD, GOOD, DEAD], 1),
        ([GOOD, FULL, DEAD, (0, 46)], 2),
        ([DEAD, GOOD, GOOD, GOOD, DEAD, DEAD], 2),
        ([GOOD, (7, 11), (8, 11), (11, 11), (7, 11)], 4),
        ([DEAD], 1),
        ([GOOD], 1),
    ],
)
def test_good_runs_before_the_change_are_left_out(runs: list[RunCount], since: int) -> None:
    """A single good run among bad ones does not move the beginning; the last run always counts."""
    assert runs_since_change(runs, 0.95, PROBE) == tuple(runs[-since:])


def test_buckets_of_live_traffic_have_a_beginning_too() -> None:
    """The live lane looks for smaller drops."""
    runs = [(198, 200)] * 20 + [(188, 200)] * 6

    assert runs_since_change(runs, 0.985, LIVE) == ((188, 200),) * 6


def test_the_mean_is_that_of_the_runs() -> None:
    """0 of 11 and 46 of 46 are one half."""
    assert mean_rate([(0, 11), (46, 46)]) == 0.5
