"""The detector over a history of one metric: what it would have said, run by run."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from health.detector import (
    QUIET,
    Baseline,
    Known,
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
    """What the detector says to one run, and what it knows after it.

    The run itself was judged by what was known before it.
    """

    state: Known
    log_m: float | None
    verdict: Verdict
    p_ref: float | None


@dataclass(slots=True)
class BacktestSeries:
    """One metric of one lane, from the first run on.

    With a baseline it is frozen on that from the start, however few trials it has; without one it
    warms up on the runs themselves, each judged by those before it.
    """

    lane: Lane
    log_threshold: float
    baseline: Baseline | None = None
    # Trials of a run of the baseline, where it is not the mean of those seen.
    per_run: float | None = None
    _seen: Baseline = field(default_factory=Baseline, init=False)
    _known: Known = field(default=Known.NONE, init=False)
    _reference: float | None = field(default=None, init=False)
    _sums: LogSums = field(default=QUIET, init=False)

    def __post_init__(self) -> None:
        if self.baseline is not None:
            self._seen, self._known = self.baseline, Known.FROZEN
            self._reference = self.baseline.reference(self.lane, per_run=self.per_run)

    def take(self, successes: int, trials: int) -> DetectorStep:
        """Judge a run by what was known before it, then learn from it."""
        if trials and self._reference is not None:
            ratios = log_ratios(
                successes, trials, self._reference, self.log_threshold, lane=self.lane
            )
            self._sums = step_sums(self._sums, ratios)
        log_m, said = log_mean(self._sums), judge_sums(self._sums, self.log_threshold)
        if said is Verdict.ALARM:
            self._sums = QUIET
        if trials and self._known is not Known.FROZEN:
            self._learn(successes, trials)
        return DetectorStep(self._known, None if log_m == -inf else log_m, said, self._reference)

    def _learn(self, successes: int, trials: int) -> None:
        self._seen = self._seen.plus(successes, trials)
        self._known = self._seen.known(self.lane)
        if self._known is not Known.NONE:
            self._reference = self._seen.reference(self.lane, per_run=self.per_run)
