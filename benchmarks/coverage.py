"""How often an interval holds the true rate: `python -m benchmarks.coverage [RUNS]`.

Vendors that go wrong by chance, with known shares of 0.2 to 0.5, are measured over and over, each
time with other questions and other dice. A 95 % interval is right when it holds the share in 95 %
of the runs. Rates that chance decides are told apart: one of 0 or 1 is easily held.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httpx

from health.run_report import Report
from probes.measurement import MeasurementPlan, measure_endpoint
from probes.secret import Secret
from probes.target import Target
from probes.transport import Transport
from simulators.server import build_app

RUNS = 200
# Faults whose share is a rate of the suite, whatever is asked.
FAULTS = ("leak-hermes", "prose", "wrong-enum", "one-call", "no-repair", "empty", "leak-qwen-xml")
VENDORS = ("openai", "anthropic", "gemini", "deepseek")


@dataclass(frozen=True, slots=True)
class IntervalCheck:
    """One interval of one run, and whether it held the true rate."""

    metric: str
    by_chance: bool
    is_right: bool


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    found = asyncio.run(cover(runs))
    chance = [held for held in found if held.by_chance]
    rows = {name: [h for h in chance if h.metric == name] for name in {h.metric for h in chance}}
    sys.stdout.write(f"{runs} runs\n\n| rates | intervals | hold the true rate |\n|---|---|---|\n")
    for name, held in [*sorted(rows.items()), ("all that chance decides", chance), ("all", found)]:
        sys.stdout.write(f"| {name} | {len(held)} | {share(held):.1%} |\n")
    return 0 if share(found) >= 0.95 else 1


def share(held: Sequence[IntervalCheck]) -> float:
    return sum(interval.is_right for interval in held) / len(held)


async def cover(runs: int) -> list[IntervalCheck]:
    """For every rate of every run, whether its interval held the truth."""
    vendors = httpx.ASGITransport(build_app(latency=(0, 0)))
    found: list[IntervalCheck] = []
    async with Transport(inner=vendors) as transport, httpx.AsyncClient(transport=vendors) as page:
        for number in range(runs):
            vendor, switches = _drawn(number)
            answer = await page.get(f"http://sim/with/{switches}/_truth/{vendor}")
            truth = answer.raise_for_status().json()
            report = await _measured(transport, truth, MeasurementPlan(), number)
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


async def _measured(transport: Transport, truth: Any, plan: MeasurementPlan, number: int) -> Report:
    target = Target(
        truth["provider"],
        "http://sim" + truth["base_path"],
        truth["model"],
        Secret("sim-cover"),
        max_concurrency=16,
    )
    running = measure_endpoint(target, plan, seed=number, transport=transport)
    async with aclosing(running):
        attempts = [attempt async for attempt in running]
    return Report(target.profile_key(), datetime.now(UTC), attempts)


def _compared(report: Report, truth: Any) -> Iterator[IntervalCheck]:
    for metric, rate in report.metrics.items():
        true = truth["metrics"][metric]["rate"]
        if true is not None and rate.low is not None and rate.high is not None:
            yield IntervalCheck(str(metric), 0 < true < 1, rate.low <= true <= rate.high)


if __name__ == "__main__":
    sys.exit(main())
