"""How long a drop stays undetected."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta

import numpy as np

from benchmarks.detection import published
from benchmarks.detection.draws import BASELINE_TRIALS, Counts, Runs
from benchmarks.detection.published import Delay
from benchmarks.detection.recursion import Replicates, Setting
from benchmarks.detection.tables import Table, within
from health.detector import PROBE, Baseline, alarm_threshold
from health.power import runs_to_detect
from health.watch import watch_threshold

REPLICATES, SEED = 2000, 202
HEALTHY, HORIZON = 30, 120
SIX_HOURLY, HOURLY = 1460, 8760


@dataclass(frozen=True, slots=True)
class Drop:
    """A rate that falls after thirty healthy slots."""

    before: float
    after: float
    rho: float = 0.1


@dataclass(frozen=True, slots=True)
class Study:
    """How many replicates of a drop are simulated, and how long."""

    replicates: int = REPLICATES
    seed: int = SEED
    horizon: int = HORIZON


USUAL, LONG = Study(), Study(horizon=2000)


def slots_until_detected(
    drop: Drop, setting: Setting, study: Study = USUAL, baselines: Counts | None = None
) -> Counts:
    """The slots of each replicate; one past the horizon if the drop is not detected.

    A false alarm in the healthy slots resets the sums, as in operation, and is no detection.
    """
    runs = Runs(np.random.default_rng(study.seed), setting.trials, drop.rho)
    if baselines is None:
        baselines = runs.baselines(drop.before, study.replicates, setting.baseline_trials)
    detectors = Replicates(setting, baselines)
    undetected = np.arange(study.replicates)
    slots = np.full(study.replicates, study.horizon + 1)
    for _ in range(HEALTHY):
        detectors.slot(undetected, runs, drop.before)
    for number in range(1, study.horizon + 1):
        raised = detectors.slot(undetected, runs, drop.after).raised
        slots[raised] = number
        undetected = np.setdiff1d(undetected, raised, assume_unique=True)
    return slots


def summary(counts: Counts) -> Delay:
    """The summary of some delays; an undetected drop counts as the horizon."""
    missed = float((counts > HORIZON).mean())
    slots = np.minimum(counts, HORIZON)
    late = float(np.quantile(slots, 0.9))
    return Delay(float(slots.mean()), float(np.median(slots)), late, missed)


def is_near(measured: Delay, expected: Delay) -> bool:
    """Compare the means, or the medians if many misses let the horizon dominate the mean."""
    if expected.late >= HORIZON:
        return within(measured.median, expected.median, published.MEDIAN_TOLERANCE)
    return within(measured.mean, expected.mean, published.MEAN_TOLERANCE)


def drops(trials: Iterable[int] = (5, 10, 20)) -> Table:
    """Every drop of the second table."""
    table = _table("T2: slots until a drop is found, rho 0.1")
    for (number, before), expected in published.DELAYS.items():
        if number in trials:
            for after, was in expected.items():
                _compare(
                    table, Drop(before, after), Setting(number, alarm_threshold(SIX_HOURLY)), was
                )
    return table


def other_drops() -> Table:
    """Independent trials, no confirmation runs, and an hourly cadence: ten trials each."""
    table = _table("T2 and T4: slots until a drop is found, in other settings")
    usual = Setting(10, alarm_threshold(SIX_HOURLY))
    for (before, after), was in published.INDEPENDENT_DELAYS.items():
        _compare(table, Drop(before, after, rho=0.0), usual, was, "rho 0")
    for (before, after), was in published.UNCONFIRMED_DELAYS.items():
        _compare(table, Drop(before, after), replace(usual, confirmations=0), was, "unconfirmed")
    for (before, after), was in published.HOURLY_DELAYS.items():
        _compare(table, Drop(before, after), Setting(10, alarm_threshold(HOURLY)), was, "hourly")
    return table


def by_baseline() -> Table:
    """Hourly runs under nine metrics: the usual baseline, and the longer one as built."""
    built = hourly_baseline()
    table = Table(
        f"Hourly runs: slots until a drop is found, by trials of the baseline, seed {SEED}",
        ("rate", *(f"{trials} trials" for trials in (BASELINE_TRIALS, built))),
    )
    threshold = watch_threshold(timedelta(hours=1))
    for drop in (Drop(0.98, 0.9), Drop(0.98, 0.8), Drop(0.98, 0.5), Drop(0.95, 0.8)):
        delays = [
            _format_delay(
                summary(slots_until_detected(drop, Setting(10, threshold, baseline_trials=trials)))
            )
            for trials in (BASELINE_TRIALS, built)
        ]
        table.add((f"{drop.before:g} to {drop.after:g}", *delays))
    return table


def hourly_baseline() -> int:
    return PROBE.at_cadence(HOURLY).frozen


def _table(title: str) -> Table:
    columns = ("trials", "rate", "mean / median / 90 % (missed)", "published", "near enough")
    table = Table(f"{title}, seed {SEED}", columns)
    table.notes.append(
        "Near enough is a mean within 8 %; where over 10 % are missed, a median within 15 %."
    )
    return table


def _compare(table: Table, drop: Drop, setting: Setting, was: Delay, note: str = "") -> None:
    measured = summary(slots_until_detected(drop, setting))
    name = f"{drop.before:g} to {drop.after:g} {note}".strip()
    table.add(
        (str(setting.trials), name, _format_delay(measured), _format_delay(was)),
        is_near(measured, was),
    )


def _format_delay(delay: Delay) -> str:
    missed = "" if delay.missed is None else f" ({delay.missed:.2f})"
    return f"{delay.mean:.4g} / {delay.median:g} / {delay.late:g}{missed}"


def formula() -> Table:
    """The prediction of `health.power` against the simulation."""
    table = Table(
        f"Runs until a drop is found, ten trials, rho 0.1, no runs that confirm, seed {SEED}",
        (
            "rate",
            "by formula",
            "mean",
            "median, drawn baselines",
            "formula within 15 % of the mean",
        ),
    )
    setting = Setting(10, alarm_threshold(SIX_HOURLY), confirmations=0)
    for before in published.RATES:
        usual = round(before * setting.baseline_trials)
        reference = Baseline(usual, setting.baseline_trials).reference(per_run=10)
        for after in (0.8, 0.5, 0.2):
            expected = runs_to_detect(reference, after, 10, setting.log_threshold)
            drop, equal_baselines = Drop(before, after), np.full(REPLICATES, usual)
            mean = slots_until_detected(drop, setting, LONG, equal_baselines).mean()
            drawn_median = np.median(slots_until_detected(drop, setting, LONG))
            row = (
                f"{before:g} to {after:g}",
                f"{expected:.1f}",
                f"{mean:.1f}",
                f"{drawn_median:g}",
            )
            table.add(row, within(expected, float(mean), 0.15))
    return table
