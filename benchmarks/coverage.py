"""How often an interval contains the true rate: `python -m benchmarks.coverage [RUNS]`.

Vendors that fail randomly, with known shares of 0.2 to 0.5, are measured again and again with other
questions and other seeds. A 95 % interval is right if it contains the share in 95 % of the runs.
Rates strictly between 0 and 1 are listed separately, because 0 and 1 are easy to contain.
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
# Faults whose share is a rate of the suite, whatever the question.
FAULTS = ("leak-hermes", "prose", "wrong-enum", "one-call", "no-repair", "empty", "leak-qwen-xml")
VENDORS = ("openai", "anthropic", "gemini", "deepseek")


@dataclass(frozen=True, slots=True)
class IntervalCheck:
    """One interval of one run, and whether it contains the true rate."""

    metric: str
    by_chance: bool
    is_right: bool


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    checks = asyncio.run(cover(runs))
    chance = [check for check in checks if check.by_chance]
    rows = {name: [c for c in chance if c.metric == name] for name in {c.metric for c in chance}}
    sys.stdout.write(f"{runs} runs\n\n| rates | intervals | hold the true rate |\n|---|---|---|\n")
    for name, group in [
        *sorted(rows.items()),
        ("all that chance decides", chance),
        ("all", checks),
    ]:
        sys.stdout.write(f"| {name} | {len(group)} | {share(group):.1%} |\n")
    return 0 if share(checks) >= 0.95 else 1


def share(checks: Sequence[IntervalCheck]) -> float:
    return sum(interval.is_right for interval in checks) / len(checks)


async def cover(runs: int) -> list[IntervalCheck]:
    """For every rate of every run, whether its interval contains the true rate."""
    vendors = httpx.ASGITransport(build_app(latency=(0, 0)))
    checks: list[IntervalCheck] = []
    async with Transport(inner=vendors) as transport, httpx.AsyncClient(transport=vendors) as page:
        for number in range(runs):
            vendor, switches = _draw_faults(number)
            answer = await page.get(f"http://sim/with/{switches}/_truth/{vendor}")
            truth = answer.raise_for_status().json()
            report = await _measure(transport, truth, MeasurementPlan(), number)
            checks += _compare(report, truth)
    return checks


def _draw_faults(number: int) -> tuple[str, str]:
    """A vendor, and two faults with shares of 0.2 to 0.5."""
    rng = random.Random(number)  # noqa: S311
    switches = "+".join(
        f"{fault},p={rng.choice((0.2, 0.3, 0.4, 0.5))},seed={number}"
        for fault in rng.sample(FAULTS, 2)
    )
    return rng.choice(VENDORS), switches


async def _measure(transport: Transport, truth: Any, plan: MeasurementPlan, number: int) -> Report:
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


def _compare(report: Report, truth: Any) -> Iterator[IntervalCheck]:
    for metric, rate in report.metrics.items():
        true_rate = truth["metrics"][metric]["rate"]
        if true_rate is not None and rate.low is not None and rate.high is not None:
            yield IntervalCheck(str(metric), 0 < true_rate < 1, rate.low <= true_rate <= rate.high)


if __name__ == "__main__":
    sys.exit(main())
