"""Runs the detector over the history of one metric: its verdict after every run."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from health.detector import (
    QUIET,
    Baseline,
    BaselineState,
    Lane,
    LogSums,
    Verdict,
    judge_sums,
    log_mean,
    log_ratios,
    step_sums,
)


@dataclass(frozen=True, slots=True)
class DetectorStep:
    """The verdict on one run, by the baseline before it, and the baseline state after it."""

    state: BaselineState
    log_m: float | None
    verdict: Verdict
    p_ref: float | None


@dataclass(slots=True)
class BacktestSeries:
    """One metric of one lane, from the first run on.

    A given baseline is frozen from the start, however few trials it has. Without one, the baseline
    is learned from the runs, and each run is judged by the runs before it.
    """

    lane: Lane
    log_threshold: float
    baseline: Baseline | None = None
    # Trials per run of the baseline, if not the mean of its runs.
    per_run: float | None = None
    _baseline: Baseline = field(default_factory=Baseline, init=False)
    _state: BaselineState = field(default=BaselineState.NONE, init=False)
    _reference: float | None = field(default=None, init=False)
    _sums: LogSums = field(default=QUIET, init=False)

    def __post_init__(self) -> None:
        if self.baseline is not None:
            self._baseline, self._state = self.baseline, BaselineState.FROZEN
            self._reference = self.baseline.reference(self.lane, per_run=self.per_run)

    def add_run(self, successes: int, trials: int) -> DetectorStep:
        """Judge a run by the baseline before it, then learn from it."""
        if trials and self._reference is not None:
            ratios = log_ratios(
                successes, trials, self._reference, self.log_threshold, lane=self.lane
            )
            self._sums = step_sums(self._sums, ratios)
        log_m, verdict = log_mean(self._sums), judge_sums(self._sums, self.log_threshold)
        if verdict is Verdict.ALARM:
            self._sums = QUIET
        if trials and self._state is not BaselineState.FROZEN:
            self._learn(successes, trials)
        return DetectorStep(self._state, None if log_m == -inf else log_m, verdict, self._reference)

    def _learn(self, successes: int, trials: int) -> None:
        self._baseline = self._baseline.plus(successes, trials)
        self._state = self._baseline.known(self.lane)
        if self._state is not BaselineState.NONE:
            self._reference = self._baseline.reference(self.lane, per_run=self.per_run)
