"""The detector for many replicates at once, with the ratios of `health.detector`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import exp
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.detection.draws import BASELINE_TRIALS, Counts, Runs
from health.detector import PROBE, QUIET, WARN, Baseline, Lane, log_ratios

Sums = NDArray[np.float64]
CONFIRMATIONS = 4


@dataclass(frozen=True, slots=True)
class Setting:
    """What all replicates of one simulation share."""

    trials: int
    log_threshold: float
    lane: Lane = PROBE
    baseline_trials: int = BASELINE_TRIALS
    warn: float = WARN
    confirmations: int = CONFIRMATIONS


class Slot(NamedTuple):
    """The events of one slot."""

    scheduled: Counts  # successes of the scheduled run of each
    raised: Counts  # who raised the alarm
    added: int  # runs that confirmed


class Replicates:
    """The sums of one detector per baseline.

    They are not stored as logarithms: the alarm resets them long before they overflow.
    """

    def __init__(self, setting: Setting, baselines: Counts) -> None:
        self.setting = setting
        self.alarm = exp(setting.log_threshold)
        known, rows = np.unique(baselines, return_inverse=True)
        tables = [ratios_of(setting, int(successes)) for successes in known]
        self._ratios: Sums = np.concatenate(tables)
        self._first = rows.astype(np.int64) * (setting.trials + 1)
        self.sums: Sums = np.zeros((len(baselines), len(QUIET)))

    def __len__(self) -> int:
        return len(self.sums)

    def add_run(self, successes: Counts, who: Counts) -> Sums:
        """Add one run of each; returns their evidence M after it."""
        sums = (1 + self.sums[who]) * self._ratios[self._first[who] + successes]
        self.sums[who] = sums
        evidence: Sums = sums.mean(axis=1)
        return evidence

    def slot(self, who: Counts, runs: Runs, rate: float) -> Slot:
        """One scheduled run of each, followed at once by its confirmation runs.

        A replicate that raised the alarm starts over.
        """
        scheduled = runs.successes(rate, len(who))
        evidence = self.add_run(scheduled, who)
        added, alarmed = 0, [who[evidence >= self.alarm]]
        for _ in range(self.setting.confirmations):
            who = who[(evidence >= self.setting.warn) & (evidence < self.alarm)]
            if not len(who):
                break
            added += len(who)
            evidence = self.add_run(runs.successes(rate, len(who)), who)
            alarmed.append(who[evidence >= self.alarm])
        raised = np.concatenate(alarmed)
        self.sums[raised] = 0
        return Slot(scheduled, raised, added)


@cache
def ratios_of(setting: Setting, successes: int) -> Sums:
    """The factor of the sums for each number of successes, under one baseline."""
    baseline = Baseline(successes, setting.baseline_trials)
    reference = baseline.reference(setting.lane, per_run=setting.trials)
    return np.exp(
        [
            log_ratios(x, setting.trials, reference, setting.log_threshold, lane=setting.lane)
            for x in range(setting.trials + 1)
        ]
    )
