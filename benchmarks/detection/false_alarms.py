"""How often the detector raises false alarms: years of runs in which nothing changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.detection import published
from benchmarks.detection.draws import Counts, Runs
from benchmarks.detection.recursion import Replicates, Setting
from benchmarks.detection.tables import Table, within
from health.detector import alarm_threshold

REPLICATES = 1500
SEED, POOLED_SEEDS = 101, (101, 111, 112, 113)
SEEDS = ", ".join(map(str, POOLED_SEEDS))
PROFILE_SEED = 303
SIX_HOURLY, DAILY, HOURLY = 1460, 365, 8760
# The true rates of the seven metrics of the published profile.
PROFILE = (1.0, 1.0, 0.98, 0.98, 0.95, 0.95, 0.9)


@dataclass(frozen=True, slots=True)
class QuietYear:
    """A year of each replicate in which nothing was wrong."""

    alarms: Counts  # of each replicate
    added: int  # runs that confirmed a warning
    low_runs: int  # scheduled runs below nine in ten
    slots: int

    @property
    def per_year(self) -> float:
        return float(self.alarms.mean())

    @property
    def added_percent(self) -> float:
        return 100 * self.added / self.slots / len(self.alarms)


def quiet_year(
    runs: Runs,
    rate: float,
    replicates: int,
    slots: int = SIX_HOURLY,
    setting: Setting | None = None,
) -> QuietYear:
    """A year at an unchanged rate, each replicate with its own baseline."""
    setting = setting or Setting(runs.trials, alarm_threshold(slots))
    baselines = runs.baselines(rate, replicates, setting.baseline_trials)
    detectors = Replicates(setting, baselines)
    all_replicates = np.arange(replicates)
    alarms = np.zeros(replicates, np.int64)
    added = low = 0
    for _ in range(slots):
        slot = detectors.slot(all_replicates, runs, rate)
        low += int((slot.scheduled < 0.9 * runs.trials).sum())
        alarms[slot.raised] += 1
        added += slot.added
    return QuietYear(alarms, added, low, slots)


def cell(trials: int, rho: float, rate: float, *, seed: int, slots: int = SIX_HOURLY) -> QuietYear:
    """One cell, from its own generator, so that it can be repeated alone."""
    runs = Runs(np.random.default_rng(seed), trials, rho)
    return quiet_year(runs, rate, REPLICATES, slots)


def single_cells() -> Table:
    """Every cell of the first table, from one seed. Single cells scatter: none is judged."""
    table = Table(
        f"T1: false alarms a metric and year (added runs in % of the scheduled), seed {SEED}; "
        "after the comma as published",
        ("trials", "rho", *(f"{rate:g}" for rate in published.RATES)),
    )
    for (trials, rho), cells in published.FALSE_ALARMS.items():
        years = [cell(trials, rho, rate, seed=SEED) for rate in published.RATES]
        columns = [
            f"{year.per_year:.3f} ({year.added_percent:.1f}), {alarms:.3f} ({added:.1f})"
            for year, (alarms, added) in zip(years, cells, strict=True)
        ]
        table.add((str(trials), f"{rho:g}", *columns))
    return table


def pooled() -> Table:
    """The cells that are judged: ten trials, rho 0.1, over all seeds."""
    table = Table(
        f"T1 pooled over seeds {SEEDS}: ten trials, rho 0.1",
        ("rate", "each seed", "pooled", "published", "within 60 % and at most 0.15"),
    )
    for rate, expected in published.POOLED.items():
        per_seed = [cell(10, 0.1, rate, seed=seed).per_year for seed in POOLED_SEEDS]
        mean = sum(per_seed) / len(per_seed)
        passed = within(mean, expected, 0.6) and mean <= published.MAX_ALARMS
        seeds = " ".join(f"{alarms:.3f}" for alarms in per_seed)
        table.add((f"{rate:g}", seeds, f"{mean:.3f}", f"{expected:.3f}"), passed)
    return table


def profile(rhos: Sequence[float] = (0.0, 0.1)) -> Table:
    """All seven metrics of a profile together."""
    table = Table(
        "T3: false alarms a profile and year, seven metrics",
        ("rho", "alarms", "published", "years without", "published", "at most 0.6"),
    )
    for rho in rhos:
        alarms = sum(quiet.alarms for quiet in profile_years(rho, REPLICATES, PROFILE_SEED))
        assert isinstance(alarms, np.ndarray)
        per_year, share_without = float(alarms.mean()), float((alarms == 0).mean())
        published_alarms, published_without = published.PROFILE[rho]
        passed = per_year <= published.MAX_PROFILE_ALARMS
        row = (
            f"{rho:g}",
            f"{per_year:.3f}",
            f"{published_alarms:.3f}",
            f"{share_without:.3f}",
            f"{published_without:.3f}",
        )
        table.add(row, passed)
    return table


def profile_years(rho: float, replicates: int, seed: int) -> Iterator[QuietYear]:
    """A year of each metric of this many profiles, all from one generator."""
    runs = Runs(np.random.default_rng(seed), 10, rho)
    return (quiet_year(runs, rate, replicates) for rate in PROFILE)


def cadences() -> Table:
    """Other numbers of runs per year, each with its own threshold.

    The published figures are from one seed, and alarms come from the few replicates with a lucky
    baseline. So they are compared with the range of our single seeds.
    """
    table = Table(
        f"T4: false alarms a metric and year by cadence, ten trials, rho 0.1, seeds {SEEDS}",
        ("slots a year", "rate", "each seed", "published, one seed", "within 60 % of their range"),
    )
    for slots, expected in published.BY_CADENCE.items():
        for rate, was in zip(published.POOLED, expected, strict=True):
            per_seed = [
                cell(10, 0.1, rate, seed=seed, slots=slots).per_year for seed in POOLED_SEEDS
            ]
            seeds = " ".join(f"{alarms:.3f}" for alarms in per_seed)
            passed = 0.4 * min(per_seed) <= was <= 1.6 * max(per_seed)
            table.add((str(slots), f"{rate:g}", seeds, f"{was:.3f}"), passed)
    return table
