"""How much the trials of a run hang together, and what follows where it is more than thought."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from random import Random

import pytest

from health.correlation import (
    EVERY,
    FEWEST_RUNS,
    Spread,
    correlation_lower_bound,
    raise_correlation,
)
from health.detector import HIGHEST_RHO, PROBE
from health.watch import MetricCount
from tests.health.watch_story import AT, DAY, GOOD, Story, kinds, settled_story


def spread_of(successes: Iterable[int], trials: int = 10) -> Spread:
    spread = Spread()
    for number, good in enumerate(successes):
        spread = spread.plus(good, trials, AT + number * DAY)
    return spread


def drawn(rho: float, runs: int, *, rate: float = 0.9, seed: int = 1) -> list[int]:
    """Successes of runs of ten trials that hang together so much."""
    rng = Random(seed)
    weight = (1 - rho) / rho if rho else 0
    found = []
    for _ in range(runs):
        p = rng.betavariate(rate * weight, (1 - rate) * weight) if rho else rate
        found.append(sum(rng.random() < p for _ in range(10)))
    return found


def test_independent_trials_prove_no_correlation_worth_raising() -> None:
    """Chance alone scatters too."""
    bounds = [correlation_lower_bound(spread_of(drawn(0, 120, seed=seed))) for seed in range(20)]

    assert max(bounds) < PROBE.rho


def test_a_strong_correlation_is_proven_and_not_overstated() -> None:
    """The bound lies below the truth most of the time, and not far below."""
    bounds = sorted(
        correlation_lower_bound(spread_of(drawn(0.3, 400, seed=seed))) for seed in range(20)
    )

    assert 0.15 < bounds[10] < 0.3
    assert sum(bound > 0.3 for bound in bounds) <= 8


@pytest.mark.parametrize("successes", [[10] * 50, [0] * 50, [5] * 50], ids=["all", "none", "half"])
def test_runs_that_are_all_alike_prove_nothing(successes: list[int]) -> None:
    """No scatter at all is less than chance would have."""
    assert correlation_lower_bound(spread_of(successes)) == 0


def test_it_is_raised_never_lowered_and_not_beyond_reason() -> None:
    """All or nothing in each run is as correlated as can be."""
    wild, calm = spread_of([0, 10] * 30), spread_of([9] * 60)

    assert raise_correlation(0.1, wild) == HIGHEST_RHO
    assert raise_correlation(0.25, calm) == 0.25


def test_a_run_of_one_trial_says_nothing_about_it() -> None:
    """It hangs together with nothing."""
    assert Spread().plus(1, 1, AT) == Spread()


def test_a_month_must_be_over_and_hold_enough_runs() -> None:
    """Both are needed, so that one look a month is made on something."""
    enough = spread_of([9] * FEWEST_RUNS)
    few = spread_of([9] * (FEWEST_RUNS - 1))

    assert enough.is_due(AT + EVERY)
    assert not enough.is_due(AT + EVERY - timedelta(seconds=1))
    assert not few.is_due(AT + 10 * EVERY)


def scattered(story: Story, runs: int) -> list[str]:
    """Runs that fail now and then, and then thoroughly, but never two after each other."""
    found: list[str] = []
    for number in range(runs):
        found += kinds(story.run(MetricCount(10, 5) if number % 20 == 19 else GOOD))
    return [kind for kind in found if kind not in ("warned", "calmed")]


def test_a_month_of_scatter_raises_the_correlation_and_lowers_the_reference() -> None:
    """Trials that hang together count for less: so do those of the baseline."""
    story = settled_story(MetricCount(10, 1))
    before = story.gauge.reference

    found = scattered(story, 125)

    assert found == ["correlated"]
    assert story.gauge.rho is not None
    assert PROBE.rho < story.gauge.rho <= HIGHEST_RHO
    assert before is not None
    assert story.gauge.reference is not None
    assert story.gauge.reference < before


def test_a_calm_month_afterwards_lowers_nothing() -> None:
    """What was seen once may come again."""
    story = settled_story(MetricCount(10, 1))
    scattered(story, 125)
    rho, reference = story.gauge.rho, story.gauge.reference

    assert story.runs(130, GOOD) == [[]] * 130
    assert (story.gauge.rho, story.gauge.reference) == (rho, reference)


def test_runs_of_an_open_alarm_are_not_counted() -> None:
    """Only healthy runs tell how health scatters."""
    story = settled_story()
    story.runs(2, MetricCount(10, 10))
    before = story.gauge.spread

    story.runs(10, MetricCount(10, 10))

    assert story.gauge.spread == before
