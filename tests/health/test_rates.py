from __future__ import annotations

import pytest

from health.rates import DIRECTIONS, Direction, Rate, metric_rate, rate_interval, wilson
from probes.outcomes import Metric


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        (0, 10, 0.0000, 0.2775),
        (5, 10, 0.2366, 0.7634),
        (10, 10, 0.7225, 1.0000),
        (81, 263, 0.2553, 0.3662),
        (1, 1, 0.2065, 1.0000),
    ],
)
def test_wilson_gives_the_published_values(
    successes: int, trials: int, low: float, high: float
) -> None:
    """The interval is Wilson's, without continuity correction (Newcombe 1998 has 81 of 263)."""
    assert wilson(successes, trials) == pytest.approx((low, high), abs=1e-4)


def test_wilson_needs_a_trial() -> None:
    """Zero trials raise a ValueError."""
    with pytest.raises(ValueError, match="at least one trial"):
        wilson(0, 0)


def test_no_trials_are_no_data() -> None:
    """An empty denominator has no value, which is not zero."""
    rate = Rate(0, 0)

    assert (rate.value, rate.low, rate.high) == (None, None, None)


def test_a_rate_counts_what_its_metric_counts() -> None:
    """Three bad trials of ten are 70 % parse success and 30 % schema failure."""
    assert metric_rate(Metric.PARSE_SUCCESS, 10, 3).value == pytest.approx(0.7)
    assert metric_rate(Metric.SCHEMA_FAILURE, 10, 3).value == pytest.approx(0.3)


def test_more_failures_than_trials_are_refused() -> None:
    """A rate above one is an error."""
    with pytest.raises(ValueError, match="do not fit"):
        Rate(3, 4)


def test_every_metric_has_a_direction() -> None:
    """Two of the seven watched rates are good when high, the others when low."""
    assert set(DIRECTIONS) == set(Metric)
    watched = list(Metric)[:7]
    assert [m.value for m in watched if DIRECTIONS[m] is Direction.HIGH] == [
        "parse_success",
        "repair_success",
    ]


@pytest.mark.parametrize("trials", [1, 3, 12, 47, 109, 1000])
def test_an_interval_reaches_its_ends_exactly(trials: int) -> None:
    """A rate of 0 or 1 is inside its own interval."""
    assert wilson(0, trials)[0] == 0
    assert wilson(trials, trials)[1] == 1


def test_many_trials_count_for_somewhat_fewer() -> None:
    """Trials of one run are correlated, so the interval is slightly wider than Wilson's."""
    low, high = wilson(80, 100)
    rate = metric_rate(Metric.PARSE_SUCCESS, 100, 20)

    assert rate.low is not None
    assert rate.high is not None
    assert rate.low < low < high < rate.high
    assert (rate.high - rate.low) / (high - low) == pytest.approx(1.40, abs=0.02)
    assert rate_interval(1, 1) == wilson(1, 1)
