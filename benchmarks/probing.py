"""How long a measurement takes if every answer takes a second: `python -m benchmarks.probing`."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from benchmarks.simulators import Server
from launcher.ports import free_port
from probes.adapters import adapter_for
from probes.adapters.base import Adapter
from probes.errors import Refused
from probes.exchange import read_reply
from probes.measurement import MeasurementPlan, measure_endpoint
from probes.outcomes import Attempt, Outcome
from probes.recorded_exchange import RecordedExchange, from_evidence
from probes.secret import Secret
from probes.suite import PROBES, Trial, is_streamed
from probes.suite.base import Answer, Question, rng_for
from probes.suite.question_builder import QuestionBuilder
from probes.target import Provider, Target
from probes.transport import Transport

ROOT = Path(__file__).resolve().parent.parent
SEED = "benchmark"
SECONDS = 1.0  # per answer
AT_ONCE = 64
# With many endpoints, each has the command's default concurrency.
COUNTS, AT_ONCE_EACH = (1, 10, 50), 8
ROUNDS = 5
BAR = 1.2
START_S = 30.0
# One vendor of each wire format, and one that thinks: provider, path, model.
VENDORS = (
    (Provider.OPENAI, "openai/v1", "sim-steady"),
    (Provider.OPENAI_RESPONSES, "responses/v1", "sim-steady"),
    (Provider.ANTHROPIC, "anthropic", "sim-steady"),
    (Provider.GEMINI, "gemini", "sim-gemini-3"),
    (Provider.OLLAMA, "ollama", "sim-steady:latest"),
    (Provider.DEEPSEEK, "deepseek/v1", "sim-v4"),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """One run: its attempts, its duration, and how this process spent it.

    `waited` is the time in which it was runnable without a core.
    """

    attempts: Sequence[Attempt]
    seconds: float
    processor: float
    waited: float

    @property
    def requests(self) -> int:
        return sum(attempt.evidence.requests for attempt in self.attempts)


class _Clock:
    """Starts when it is created."""

    def __init__(self) -> None:
        self._start = self._now()

    def stop(self, attempts: Sequence[Attempt]) -> Measured:
        seconds, processor, waited = (
            now - then for now, then in zip(self._now(), self._start, strict=True)
        )
        return Measured(attempts, seconds, processor, waited)

    def _now(self) -> tuple[float, float, float]:
        waited = Path("/proc/self/schedstat").read_text(encoding="ascii").split()[1]
        return time.perf_counter(), time.process_time(), int(waited) / 1e9


def main() -> int:
    """Measure and print both tables; 1 if the full suite takes too long for its chain."""
    with _vendors() as server:
        # Imports and first connections are not measured.
        asyncio.run(_run(_target(server, 0), "light"))
        share = _measure_full_suite(server)
        _measure_many(server)
    return int(share > BAR)


def _measure_full_suite(server: Server) -> float:
    """One line per vendor; returns the largest share."""
    out = sys.stdout
    out.write(
        "| vendor | attempts | requests | longest chain | full suite | share "
        "| our processor | waited for a core |\n|---|---|---|---|---|---|---|---|\n"
    )
    shares = []
    for number, (provider, _, model) in enumerate(VENDORS):
        target = _target(server, number)
        run = _fastest_run(target, "full")
        chain = max(rounds(target, attempt) for attempt in run.attempts)
        shares.append(run.seconds / (chain * SECONDS))
        out.write(
            f"| {provider} {model} | {len(run.attempts)} | {run.requests} | {chain} "
            f"| {run.seconds:.2f} s | {shares[-1]:.2f} | {run.processor:.2f} s "
            f"| {run.waited:.2f} s |\n"
        )
    return max(shares)


def _fastest_run(target: Target, suite: str) -> Measured:
    """The fastest of some runs: other load on the machine slows the others down."""
    runs = [asyncio.run(_run(target, suite)) for _ in range(ROUNDS)]
    return min(runs, key=lambda run: run.seconds)


def _measure_many(server: Server) -> None:
    """One endpoint alone, then many at once in this process."""
    out = sys.stdout
    out.write(
        "\n| endpoints at once | requests | seconds | of one alone | our processor "
        "| waited for a core | vendors' processor | memory at most |\n"
        "|---|---|---|---|---|---|---|---|\n"
    )
    single_s = 0.0
    for count in COUNTS:
        vendor_s = server.processor_seconds()
        run = asyncio.run(_measure_together(server, count))
        vendor_s = server.processor_seconds() - vendor_s
        single_s = single_s or run.seconds
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        out.write(
            f"| {count} | {run.requests} | {run.seconds:.2f} | {run.seconds / single_s:.2f} "
            f"| {run.processor:.2f} s | {run.waited:.2f} s | {vendor_s:.2f} s | {peak_mb} MB |\n"
        )


async def _measure_together(server: Server, count: int) -> Measured:
    clock = _Clock()
    targets = [_target(server, number, AT_ONCE_EACH) for number in range(count)]
    runs = await asyncio.gather(*(_run(target, "light") for target in targets))
    return clock.stop([attempt for run in runs for attempt in run.attempts])


async def _run(target: Target, suite: str) -> Measured:
    """One whole measurement, as the command and the workers run it."""
    attempts: list[Attempt] = []
    clock = _Clock()
    async with Transport(target.limits, at_once=target.max_concurrency) as transport:
        running = measure_endpoint(target, MeasurementPlan(suite), seed=SEED, transport=transport)
        async with aclosing(running):
            attempts += [attempt async for attempt in running]
    run = clock.stop(attempts)
    bad = [attempt for attempt in attempts if attempt.outcome is not Outcome.PASS]
    if bad:
        reason = f"{bad[0].probe}: {bad[0].findings}"
        raise SystemExit(f"{len(bad)} attempts at {target.base_url} did not pass. {reason}")
    return run


def rounds(target: Target, attempt: Attempt) -> int:
    """How often the script of an attempt waited for answers; concurrent questions count once.

    The evidence lists exchanges without their concurrency, but the script knows it: it is replayed
    on them.
    """
    adapter, probe = adapter_for(target.provider), PROBES[attempt.probe]
    builder = QuestionBuilder(
        target.model,
        target.resolve_dialect(),
        adapter.format,
        target.options,
        stream=is_streamed(Trial(attempt.probe, attempt.trial), SEED),
    )
    script = probe.script(probe.draw(rng_for(SEED, probe.name, attempt.trial)), builder)
    remaining = deque(from_evidence(exchange) for exchange in attempt.evidence.exchanges)
    questions = next(script)
    for count in range(1, len(remaining) + 1):
        try:
            questions = script.send([_answer(adapter, q, remaining.popleft()) for q in questions])
        except StopIteration:
            return count
    raise AssertionError("The script asks more than its evidence holds.")


def _answer(adapter: Adapter, question: Question, recorded: RecordedExchange) -> Answer:
    assert recorded.incoming is not None
    try:
        return Answer(read_reply(adapter, recorded.incoming, streamed=question.call.stream))
    except Refused as exc:
        return Answer(refusal=exc)


def _target(server: Server, number: int, at_once: int = AT_ONCE) -> Target:
    provider, path, model = VENDORS[number % len(VENDORS)]
    # The seed makes every address a separate vendor; the delay is not random.
    slow = f"slow,value={SECONDS:g},seed={number}"
    base = f"http://127.0.0.1:{server.port}/with/{slow}/{path}"
    return Target(provider, base, model, Secret("sim-benchmark"), max_concurrency=at_once)


@contextlib.contextmanager
def _vendors() -> Iterator[Server]:
    """The simulated vendors in their own process."""
    port = free_port()
    command = [sys.executable, "-m", "simulators", "--port", str(port), "--latency", "0"]
    with subprocess.Popen(command, cwd=ROOT) as process:
        try:
            _wait_until_up(f"http://127.0.0.1:{port}/healthz", process)
            yield Server(port, process.pid)
        finally:
            process.terminate()


def _wait_until_up(url: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=1):  # noqa: S310
                return
        except urllib.error.URLError:
            time.sleep(0.05)
    raise SystemExit("The simulated vendors did not start.")


if __name__ == "__main__":
    sys.exit(main())
