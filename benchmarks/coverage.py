"""How often an interval holds the true rate: `python -m benchmarks.coverage [RUNS]`.

Vendors that go wrong by chance, with known shares of 0.2 to 0.5, are measured over and over, each
time with other questions and other dice. A 95 % interval is right when it holds the share in 95 %
of the runs. Only rates that chance decides are counted; one of 0 or 1 is too easy.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

import httpx

from health.report import Report
from probes.measuring import Plan, measure
from probes.secret import Secret
from probes.target import Target
from probes.transport import Transport
from simulators.server import build

RUNS = 200
# Faults whose share is a rate of the suite, whatever is asked.
FAULTS = ("leak-hermes", "prose", "wrong-enum", "one-call", "no-repair", "empty", "leak-qwen-xml")
VENDORS = ("openai", "anthropic", "gemini", "deepseek")


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    held: Counter[str] = Counter()
    counted: Counter[str] = Counter()
    for metric, is_held in asyncio.run(cover(runs)):
        counted[metric] += 1
        held[metric] += is_held
    out = sys.stdout
    out.write("| metric | intervals | hold the true rate |\n|---|---|---|\n")
    for metric in counted:
        share = held[metric] / counted[metric]
        out.write(f"| {metric} | {counted[metric]} | {share:.1%} |\n")
    share = held.total() / counted.total()
    out.write(f"| all | {counted.total()} | {share:.1%} |\n")
    return 0 if share >= 0.95 else 1


async def cover(runs: int, suite: str = "full") -> list[tuple[str, bool]]:
    """For every rate that chance decides, whether its interval held the truth."""
    vendors = httpx.ASGITransport(build(latency=(0, 0)))
    found: list[tuple[str, bool]] = []
    async with Transport(inner=vendors) as transport, httpx.AsyncClient(transport=vendors) as page:
        for number in range(runs):
            vendor, switches = _drawn(number)
            answer = await page.get(f"http://sim/with/{switches}/_truth/{vendor}")
            truth = answer.raise_for_status().json()
            report = await _measured(transport, truth, Plan(suite), number)
            found += _compared(report, truth)
    return found


def _drawn(number: int) -> tuple[str, str]:
    """A vendor, and two faults with shares of 0.2 to 0.5."""
    rng = random.Random(number)  # noqa: S311
    switches = "+".join(
        f"{fault},p={rng.choice((0.2, 0.3, 0.4, 0.5))},seed={number}"
        for fault in rng.sample(FAULTS, 2)
    )
    return rng.choice(VENDORS), switches


async def _measured(transport: Transport, truth: Any, plan: Plan, number: int) -> Report:
    target = Target(
        truth["provider"],
        "http://sim" + truth["base_path"],
        truth["model"],
        Secret("sim-cover"),
        max_concurrency=16,
    )
    running = measure(target, plan, seed=number, transport=transport)
    async with aclosing(running):
        attempts = [attempt async for attempt in running]
    return Report(target.profile_key(), datetime.now(UTC), attempts)


def _compared(report: Report, truth: Any) -> Iterator[tuple[str, bool]]:
    for metric, rate in report.metrics.items():
        share = truth["metrics"][metric]["rate"]
        if share is None or not 0 < share < 1 or rate.low is None or rate.high is None:
            continue
        yield str(metric), rate.low <= share <= rate.high


if __name__ == "__main__":
    sys.exit(main())
