"""When to leave the fallback: entries per year and time inside, under three rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from math import inf, log

import numpy as np
from numpy.typing import NDArray

from benchmarks.detection.draws import BASELINE_TRIALS, Counts, Runs
from benchmarks.detection.recursion import Replicates, Setting
from health.detector import RECOVERY_ODDS, Baseline, alarm_threshold, recovery_ratio

Floats = NDArray[np.float64]
REPLICATES, SEED = 600, 404
SLOTS, DAY = 1460, 4
RATE, TRIALS, RHO = 0.95, 10, 0.1
NATIVE_RUNS = 4  # per slot, while in fallback
RELAPSE_WITHIN, MAX_DWELL = 14 * DAY, 28 * DAY
# The drops come after some healthy slots; the share of time inside counts from there.
DROP = 100


class Rule(StrEnum):
    """When the fallback is left."""

    FIRST = "first good run"
    THREE = "three good runs in a row"
    RECOMMENDED = "recommended"


@dataclass(frozen=True, slots=True)
class Stays:
    """A year of each replicate."""

    entries: Counts
    inside: NDArray[np.bool_]  # slot by replicate


@dataclass(slots=True)
class Fallback:
    """Which replicates are inside, since when, and their proof of recovery."""

    size: int
    ratios: Floats  # of each replicate, by successes
    max_proof: float = inf
    inside: NDArray[np.bool_] = field(init=False)
    entered_at: Counts = field(init=False)
    left_at: Floats = field(init=False)
    relapses: Counts = field(init=False)
    proof: Floats = field(init=False)
    streak: Counts = field(init=False)

    def __post_init__(self) -> None:
        self.inside = np.zeros(self.size, np.bool_)
        self.entered_at, self.relapses, self.streak = np.zeros((3, self.size), np.int64)
        self.left_at = np.full(self.size, -np.inf)
        self.proof = np.zeros(self.size)

    def enter(self, who: Counts, slot: int) -> None:
        is_relapse = slot - self.left_at[who] <= RELAPSE_WITHIN
        self.relapses[who] = np.where(is_relapse, self.relapses[who] + 1, 0)
        self.inside[who], self.entered_at[who] = True, slot
        self.proof[who] = self.streak[who] = 0

    def add_run(self, who: Counts, successes: Counts) -> None:
        """Add a native run of each."""
        good = successes >= 0.9 * TRIALS
        self.streak[who] = np.where(good, self.streak[who] + 1, 0)
        proof = self.proof[who] + self.ratios[who, successes]
        self.proof[who] = np.clip(proof, 0, self.max_proof)

    def leave(self, who: Counts, rule: Rule, now: float) -> Counts:
        """Let those leave that the rule allows to leave now."""
        leaving = who[self._may_leave(who, rule, now)]
        self.inside[leaving], self.left_at[leaving] = False, now
        return leaving

    def _may_leave(self, who: Counts, rule: Rule, now: float) -> NDArray[np.bool_]:
        match rule:
            case Rule.FIRST:
                return self.streak[who] >= 1
            case Rule.THREE:
                return self.streak[who] >= 3
            case Rule.RECOMMENDED:
                # Ten doublings exceed the maximum dwell.
                dwell = DAY * 2.0 ** np.minimum(self.relapses[who], 10)
                has_dwelled = now - self.entered_at[who] >= np.minimum(dwell, MAX_DWELL)
                return (self.proof[who] >= log(RECOVERY_ODDS)) & has_dwelled


def year(
    rates: Floats, rule: Rule, *, as_built: bool = False, replicates: int = REPLICATES
) -> Stays:
    """A year of slots with these true rates.

    Leaving is decided at the end of a slot. `as_built`, it is decided after every native run, and
    the proof is capped at what the rule requires.
    """
    runs = Runs(np.random.default_rng(SEED), TRIALS, RHO)
    baselines = runs.baselines(RATE, replicates)
    detectors = Replicates(Setting(TRIALS, alarm_threshold(SLOTS)), baselines)
    ratios = np.array([ratios_of(int(s)) for s in baselines])
    fallback = Fallback(replicates, ratios, log(RECOVERY_ODDS) if as_built else inf)
    entries, inside = np.zeros(replicates, np.int64), np.zeros((len(rates), replicates), np.bool_)
    for slot, rate in enumerate(rates):
        within, outside = np.flatnonzero(fallback.inside), np.flatnonzero(~fallback.inside)
        raised = detectors.slot(outside, runs, float(rate)).raised
        for native in range(1, NATIVE_RUNS + 1):
            fallback.add_run(within, runs.successes(float(rate), len(within)))
            if as_built or native == NATIVE_RUNS:
                left = fallback.leave(within, rule, slot - 1 + native / NATIVE_RUNS)
                within = np.setdiff1d(within, left, assume_unique=True)
        fallback.enter(raised, slot)
        entries[raised] += 1
        inside[slot] = fallback.inside
    return Stays(entries, inside)


@cache
def ratios_of(successes: int) -> list[float]:
    """What a native run adds to the proof of recovery, under one baseline."""
    reference = Baseline(successes, BASELINE_TRIALS).reference(per_run=TRIALS)
    return [recovery_ratio(x, TRIALS, reference) for x in range(TRIALS + 1)]


def _dropped(rate: float) -> Callable[[int], float]:
    return lambda slot: RATE if slot < DROP else rate


_TRUTHS: Mapping[str, Callable[[int], float]] = {
    "healthy": lambda slot: RATE,
    "0.80 for good": _dropped(0.80),
    "0.88 for good": _dropped(0.88),
    "weekly 0.95 and 0.60": lambda slot: (RATE, 0.60)[slot // (7 * DAY) % 2],
    "0.50 for ten days": lambda slot: 0.50 if DROP <= slot < DROP + 10 * DAY else RATE,
}


def truth(name: str) -> Floats:
    """The true rate of each slot of the year."""
    return np.array([_TRUTHS[name](slot) for slot in range(SLOTS)])
