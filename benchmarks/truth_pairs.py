"""Random pairs of vendor and fault against their truth: `python -m benchmarks.truth_pairs SEED N`.

tests/probes/test_truth_matrix.py checks a fixed list; this draws from all pairs. Each difference
is printed with the true and the measured value: a mistake of a probe, or of the stated truth.

With `--share 0.5` every fault acts on that share of the answers. A field that it changes must then
be unsettled, and rates other than 0 and 1 are left to benchmarks.coverage.
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
# What fields say after fewer trials, where answers are lost by chance.
PARTLY_MEASURED = ("unknown", None, "mixed", "same_tool")
# The value of a field that has one for what works at times: error_repair.
SOMETIMES = "limited"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seed")
    parser.add_argument("count", type=int)
    parser.add_argument("--share", type=float, default=1)
    asked = parser.parse_args()
    with serve_in_background(build_app(latency=(0, 0))) as url:
        pairs = draw_pairs(asked.seed, asked.count, asked.share)
        wrong = asyncio.run(compare_pairs(url, pairs, asked.share))
    sys.stdout.write(f"{asked.count} pairs of seed {asked.seed!r}, {wrong} differ\n")
    return 1 if wrong else 0


def draw_pairs(seed: str, count: int, share: float = 1) -> list[tuple[str, str, str]]:
    """Vendors, models and faults that can be combined.

    By chance, without vendors that always leak: there the reader of a text decides as well.
    """
    pairs = [
        (spec.name, model, fault.name)
        for spec in SPECS
        if share == 1 or not spec.faults.startswith("leak")
        for model in spec.models
        for fault in FAULTS.values()
        if spec.format in fault.formats and not fault.name.startswith(SLOW)
    ]
    return random.Random(seed).sample(pairs, count)  # noqa: S311


async def compare_pairs(url: str, pairs: list[tuple[str, str, str]], share: float = 1) -> int:
    """Measure every pair, print the differences, and count the pairs that have any."""
    wrong = 0
    samples = SAMPLES if share == 1 else CHANCE_SAMPLES
    async with Transport() as transport, httpx.AsyncClient(trust_env=False) as page:
        for vendor, model, fault in pairs:
            truth = await read_truth(page, f"{url}/with/{fault},p={share:g}", vendor, model)
            always = await read_truth(page, f"{url}/with/{fault}", vendor, model)
            report = await measure(transport, url, truth, samples)
            differences = find_differences(report, truth, by_chance=share < 1)
            differences |= find_settled(report, truth, always)
            wrong += bool(differences)
            for name, (expected, measured) in differences.items():
                line = f"{vendor} {model} {fault}: {name} is {expected}, measured {measured}\n"
                sys.stdout.write(line)
    return wrong


async def read_truth(page: httpx.AsyncClient, url: str, vendor: str, model: str) -> Any:
    answer = await page.get(f"{url}/_truth/{vendor}", params={"model": model})
    return answer.raise_for_status().json()


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


def find_differences(
    report: Report, truth: Any, *, by_chance: bool = False
) -> dict[str, tuple[Any, Any]]:
    """Capabilities and rates that are determined and that were measured otherwise."""
    fields = {
        name: (value, report.capabilities[name].value)
        for name, value in truth["capabilities"].items()
        if name not in truth["undetermined"] and report.capabilities[name].value != value
        if not by_chance or report.capabilities[name].value not in PARTLY_MEASURED
    }
    rates = {
        str(metric): (truth["metrics"][metric]["rate"], rate.value)
        for metric, rate in report.metrics.items()
    }
    return fields | {
        name: (rate, value)
        for name, (rate, value) in rates.items()
        if rate in (0, 1) and value not in (rate, None)
    }


def find_settled(report: Report, truth: Any, always: Any) -> dict[str, tuple[Any, Any]]:
    """Fields that the fault changes where it acts, by chance here, and that are settled."""
    return {
        name: ("split", field.value)
        for name in truth["undetermined"]
        if _is_split(name, truth, always)
        if not (field := report.capabilities[name]).unsettled and field.value != SOMETIMES
    }


def _is_split(name: str, truth: Any, always: Any) -> bool:
    """Whether answers contradict each other: one without a call that can be read says nothing."""
    fields = always["capabilities"]
    if fields["tool_call_format"] in ("none", "unknown"):
        return name == "tool_call_format" and always["metrics"]["leak"]["rate"] != 0
    return fields[name] not in (truth["capabilities"][name], "unknown", None)


if __name__ == "__main__":
    sys.exit(main())
