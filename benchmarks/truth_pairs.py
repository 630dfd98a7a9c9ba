"""Random pairs of vendor and fault against their truth: `python -m benchmarks.truth_pairs SEED N`.

tests/probes/test_truth_matrix.py checks a fixed list; this draws from all pairs. Each difference
is printed with the true and the measured value: a mistake of a probe, or of the stated truth.

With `--share 0.5` every fault acts on that share of the answers. Rates are then left to
benchmarks.coverage, unless they are 0 or 1, and a field that chance decides must be unsettled.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

import httpx

from health.run_report import Report
from probes.runner import run_trials
from probes.secret import Secret
from probes.suite.sampling import first_trials
from probes.target import Provider, Target
from probes.transport import Transport
from simulators.background_server import serve_in_background
from simulators.faults.fault_registry import FAULTS
from simulators.server import build_app
from simulators.vendors.vendor_registry import SPECS

# They take a time of their own, and are about the clock rather than the answer.
SLOW = ("drip", "hang", "thinking", "slow", "slow-chunks", "stall", "rate-limit", "endless")


# One whole and one streamed; by chance, enough of each to see a split.
SAMPLES, CHANCE_SAMPLES = 2, 8


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seed")
    parser.add_argument("count", type=int)
    parser.add_argument("--share", type=float, default=1)
    asked = parser.parse_args()
    with serve_in_background(build_app(latency=(0, 0))) as url:
        pairs = draw_pairs(asked.seed, asked.count)
        wrong = asyncio.run(compare_pairs(url, pairs, asked.share))
    sys.stdout.write(f"{asked.count} pairs of seed {asked.seed!r}, {wrong} differ\n")
    return 1 if wrong else 0


def draw_pairs(seed: str, count: int) -> list[tuple[str, str, str]]:
    """Vendors, models and faults that can be combined."""
    pairs = [
        (spec.name, model, fault.name)
        for spec in SPECS
        for model in spec.models
        for fault in FAULTS.values()
        if spec.format in fault.formats and not fault.name.startswith(SLOW)
    ]
    return random.Random(seed).sample(pairs, count)  # noqa: S311


async def compare_pairs(url: str, pairs: list[tuple[str, str, str]], share: float = 1) -> int:
    """Measure every pair, print the differences, and count the pairs that have any."""
    wrong = 0
    async with Transport() as transport, httpx.AsyncClient(trust_env=False) as page:
        for vendor, model, fault in pairs:
            switch = fault if share == 1 else f"{fault},p={share}"
            address = f"{url}/with/{switch}/_truth/{vendor}"
            truth = (await page.get(address, params={"model": model})).raise_for_status().json()
            samples = SAMPLES if share == 1 else CHANCE_SAMPLES
            report = await measure(transport, url, truth, samples)
            differences = find_differences(report, truth, share)
            wrong += bool(differences)
            for name, (expected, measured) in differences.items():
                line = f"{vendor} {model} {fault}: {name} is {expected}, measured {measured}\n"
                sys.stdout.write(line)
    return wrong


async def measure(transport: Transport, url: str, truth: Any, samples: int = SAMPLES) -> Report:
    target = Target(
        Provider(truth["provider"]),
        url + truth["base_path"],
        truth["model"],
        Secret("sim-pairs"),
        max_concurrency=4,
    )
    trials = run_trials(target, first_trials("full", samples), seed="pairs", transport=transport)
    async with aclosing(trials):
        attempts = [attempt async for attempt in trials]
    return Report(target.profile_key(), datetime.now(UTC), attempts)


def find_differences(report: Report, truth: Any, share: float = 1) -> dict[str, tuple[Any, Any]]:
    """Capabilities and rates that are determined and that were measured otherwise."""
    measured, open_fields = report.capabilities, truth["undetermined"]
    fields = {
        name: (value, measured[name].value)
        for name, value in truth["capabilities"].items()
        if name not in open_fields and measured[name].value != value
    }
    settled = {
        name: ("undetermined", measured[name].value)
        for name in open_fields
        if share < 1 and not measured[name].unsettled
    }
    rates = {
        str(metric): (truth["metrics"][metric]["rate"], rate.value)
        for metric, rate in report.metrics.items()
    }
    known = {name: pair for name, pair in rates.items() if None not in pair}
    return (
        fields
        | settled
        | {
            name: (rate, value)
            for name, (rate, value) in known.items()
            if rate != value and (share == 1 or rate in (0, 1))
        }
    )


if __name__ == "__main__":
    sys.exit(main())
