"""Random pairs of vendor and fault against their truth: `python -m benchmarks.truth_pairs SEED N`.

tests/probes/test_truth_matrix.py checks a fixed list; this draws from all pairs. Each difference
is printed with the true and the measured value: a mistake of a probe, or of the stated truth.
"""

from __future__ import annotations

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


def main() -> int:
    seed, count = sys.argv[1], int(sys.argv[2])
    with serve_in_background(build_app(latency=(0, 0))) as url:
        wrong = asyncio.run(compare_pairs(url, draw_pairs(seed, count)))
    sys.stdout.write(f"{count} pairs of seed {seed!r}, {wrong} differ\n")
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


async def compare_pairs(url: str, pairs: list[tuple[str, str, str]]) -> int:
    """Measure every pair, print the differences, and count the pairs that have any."""
    wrong = 0
    async with Transport() as transport, httpx.AsyncClient(trust_env=False) as page:
        for vendor, model, fault in pairs:
            address = f"{url}/with/{fault}/_truth/{vendor}"
            truth = (await page.get(address, params={"model": model})).raise_for_status().json()
            differences = find_differences(await measure(transport, url, truth), truth)
            wrong += bool(differences)
            for name, (expected, measured) in differences.items():
                line = f"{vendor} {model} {fault}: {name} is {expected}, measured {measured}\n"
                sys.stdout.write(line)
    return wrong


async def measure(transport: Transport, url: str, truth: Any) -> Report:
    target = Target(
        Provider(truth["provider"]),
        url + truth["base_path"],
        truth["model"],
        Secret("sim-pairs"),
        max_concurrency=4,
    )
    # Two of each: one whole, one streamed.
    trials = run_trials(target, first_trials("full", 2), seed="pairs", transport=transport)
    async with aclosing(trials):
        attempts = [attempt async for attempt in trials]
    return Report(target.profile_key(), datetime.now(UTC), attempts)


def find_differences(report: Report, truth: Any) -> dict[str, tuple[Any, Any]]:
    """Capabilities and rates that are determined and that were measured otherwise."""
    values = {name: field.value for name, field in report.capabilities.items()}
    fields = {
        name: (value, values.get(name))
        for name, value in truth["capabilities"].items()
        if name not in truth["undetermined"] and values.get(name) != value
    }
    rates = {
        str(metric): (truth["metrics"][metric]["rate"], rate.value)
        for metric, rate in report.metrics.items()
    }
    return fields | {
        name: pair for name, pair in rates.items() if None not in pair and pair[0] != pair[1]
    }


if __name__ == "__main__":
    sys.exit(main())
