"""Live traffic: buckets of five minutes with two hundred requests each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.detection import published
from benchmarks.detection.delays import Drop, Study, slots_until_detected
from benchmarks.detection.draws import Runs
from benchmarks.detection.recursion import Replicates, Setting
from benchmarks.detection.tables import Table
from health.detector import LIVE, alarm_threshold

DROPS, QUIET_SEED = Study(500, 505, horizon=500), 506
BUCKETS_PER_YEAR = 365 * 288
QUIET_BUCKETS, QUIET_REPLICATES = 10_000, 100
SETTING = Setting(
    200, alarm_threshold(BUCKETS_PER_YEAR), LIVE, baseline_trials=LIVE.frozen, confirmations=0
)


def live_drops() -> Table:
    """Buckets until a drop is detected; not judged."""
    table = Table(
        f"T5: buckets of 200 requests until a drop from 0.99 is found, rho 0.02, seed {DROPS.seed}",
        ("to", "mean", "median", "published mean"),
    )
    for rate, was in published.LIVE_DELAYS.items():
        slots = slots_until_detected(Drop(0.99, rate, rho=LIVE.rho), SETTING, DROPS)
        table.add((f"{rate:g}", f"{slots.mean():.1f}", f"{np.median(slots):g}", f"{was:g}"))
    table.notes.append(f"What is not found in {DROPS.horizon} buckets counts as one more.")
    return table


def live_false_alarms() -> Table:
    """Quiet buckets; not judged, because they cover few years."""
    years = QUIET_BUCKETS * QUIET_REPLICATES / BUCKETS_PER_YEAR
    table = Table(
        f"T5: false alarms a metric and year, {years:.1f} years of buckets, seed {QUIET_SEED}",
        ("requests", "true rho", "rate", "alarms", "published"),
    )
    for (requests, rho, rate), was in published.LIVE_FALSE_ALARMS.items():
        runs = Runs(np.random.default_rng(QUIET_SEED), requests, rho)
        alarms = quiet_buckets(runs, rate) / years
        table.add((str(requests), f"{rho:g}", f"{rate:g}", f"{alarms:.2f}", f"{was:g}"))
    return table


def quiet_buckets(runs: Runs, rate: float) -> int:
    """The alarms of all replicates."""
    all_replicates = np.arange(QUIET_REPLICATES)
    setting = replace(SETTING, trials=runs.trials)
    baselines = runs.baselines(rate, QUIET_REPLICATES, setting.baseline_trials)
    detectors = Replicates(setting, baselines)
    slots = (detectors.slot(all_replicates, runs, rate) for _ in range(QUIET_BUCKETS))
    return sum(len(slot.raised) for slot in slots)
