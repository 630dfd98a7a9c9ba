"""The correlation between the trials of a run, and its effect when it is higher than assumed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from random import Random

import pytest

from health.correlation import (
    ESTIMATE_EVERY,
    MIN_RUNS,
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


def draw_runs(rho: float, runs: int, *, rate: float = 0.9, seed: int = 1) -> list[int]:
    """Successes of runs of ten trials with this correlation."""
    rng = Random(seed)
    weight = (1 - rho) / rho if rho else 0
    successes = []
    for _ in range(runs):
        p = rng.betavariate(rate * weight, (1 - rate) * weight) if rho else rate
        successes.append(sum(rng.random() < p for _ in range(10)))
    return successes


def test_independent_trials_prove_no_correlation_worth_raising() -> None:
    """Random scatter alone raises nothing."""
    bounds = [
        correlation_lower_bound(spread_of(draw_runs(0, 120, seed=seed))) for seed in range(20)
    ]

    assert max(bounds) < PROBE.rho


def test_a_strong_correlation_is_proven_and_not_overstated() -> None:
    """The bound is below the true value most of the time, and close to it."""
    bounds = sorted(
        correlation_lower_bound(spread_of(draw_runs(0.3, 400, seed=seed))) for seed in range(20)
    )

    assert 0.15 < bounds[10] < 0.3
    assert sum(bound > 0.3 for bound in bounds) <= 8


@pytest.mark.parametrize("successes", [[10] * 50, [0] * 50, [5] * 50], ids=["all", "none", "half"])
def test_runs_that_are_all_alike_prove_nothing(successes: list[int]) -> None:
    """No scatter at all is less than random scatter."""
    assert correlation_lower_bound(spread_of(successes)) == 0


def test_it_is_raised_never_lowered_and_not_beyond_reason() -> None:
    """All-or-nothing runs raise the correlation to its maximum."""
    wild, calm = spread_of([0, 10] * 30), spread_of([9] * 60)

    assert raise_correlation(0.1, wild) == HIGHEST_RHO
    assert raise_correlation(0.25, calm) == 0.25


def test_a_run_of_one_trial_says_nothing_about_it() -> None:
    """A single trial has no correlation within its run."""
    assert Spread().plus(1, 1, AT) == Spread()


def test_a_month_must_be_over_and_hold_enough_runs() -> None:
    """An estimate needs both time and runs."""
    enough = spread_of([9] * MIN_RUNS)
    few = spread_of([9] * (MIN_RUNS - 1))

    assert enough.is_due(AT + ESTIMATE_EVERY)
    assert not enough.is_due(AT + ESTIMATE_EVERY - timedelta(seconds=1))
    assert not few.is_due(AT + 10 * ESTIMATE_EVERY)


def play_scatter(story: Story, runs: int) -> list[str]:
    """Runs that fail now and then, sometimes badly, but never twice in a row."""
    changes: list[str] = []
    for number in range(runs):
        changes += kinds(story.run(MetricCount(10, 5) if number % 20 == 19 else GOOD))
    return [kind for kind in changes if kind not in ("warned", "calmed")]


def test_a_month_of_scatter_raises_the_correlation_and_lowers_the_reference() -> None:
    """Correlated trials count for less, also those of the baseline."""
    story = settled_story(MetricCount(10, 1))
    before = story.gauge.reference

    changes = play_scatter(story, 125)

    assert changes == ["correlated"]
    assert story.gauge.rho is not None
    assert PROBE.rho < story.gauge.rho <= HIGHEST_RHO
    assert before is not None
    assert story.gauge.reference is not None
    assert story.gauge.reference < before


def test_a_calm_month_afterwards_lowers_nothing() -> None:
    """A correlation that was proven once is kept."""
    story = settled_story(MetricCount(10, 1))
    play_scatter(story, 125)
    rho, reference = story.gauge.rho, story.gauge.reference

    assert story.runs(130, GOOD) == [[]] * 130
    assert (story.gauge.rho, story.gauge.reference) == (rho, reference)


def test_runs_of_an_open_alarm_are_not_counted() -> None:
    """Only healthy runs count towards the correlation."""
    story = settled_story()
    story.runs(2, MetricCount(10, 10))
    before = story.gauge.spread

    story.runs(10, MetricCount(10, 10))

    assert story.gauge.spread == before
