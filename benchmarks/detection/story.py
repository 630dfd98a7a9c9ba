"""One degradation, run by run, until it is detected."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.detection.draws import Runs
from benchmarks.detection.recursion import CONFIRMATIONS
from health.backtest import BacktestSeries
from health.detector import PROBE, Baseline, Verdict, alarm_threshold

SEED = 4
BASELINE = Baseline(196, 200)
TRIALS, RHO, SLOTS_PER_YEAR = 10, 0.1, 1460
BEFORE, AFTER, HEALTHY = 0.98, 0.80, 16
LOG_THRESHOLD = alarm_threshold(SLOTS_PER_YEAR)


@dataclass(frozen=True, slots=True)
class StoryRun:
    """One run of the story."""

    successes: int
    is_degraded: bool
    confirms: bool
    log_m: float
    verdict: Verdict

    @property
    def rate(self) -> float:
        return self.successes / TRIALS


def reference() -> float:
    """The normal rate."""
    return BASELINE.reference(per_run=TRIALS)


def play_story(seed: int = SEED) -> list[StoryRun]:
    """Healthy slots, then degraded ones up to the alarm."""
    runs = Runs(np.random.default_rng(seed), TRIALS, RHO)
    series = BacktestSeries(PROBE, LOG_THRESHOLD, BASELINE, per_run=TRIALS)
    story_runs: list[StoryRun] = []
    while not story_runs or story_runs[-1].verdict is not Verdict.ALARM:
        story_runs += _slot(
            series, runs, is_degraded=sum(not t.confirms for t in story_runs) >= HEALTHY
        )
    return story_runs


def _slot(series: BacktestSeries, runs: Runs, *, is_degraded: bool) -> list[StoryRun]:
    slot_runs: list[StoryRun] = []
    rate = AFTER if is_degraded else BEFORE
    while not slot_runs or (
        slot_runs[-1].verdict is Verdict.WARN and len(slot_runs) <= CONFIRMATIONS
    ):
        successes = int(runs.successes(rate, 1)[0])
        step = series.add_run(successes, TRIALS)
        assert step.log_m is not None
        slot_runs.append(
            StoryRun(successes, is_degraded, bool(slot_runs), step.log_m, step.verdict)
        )
    return slot_runs
