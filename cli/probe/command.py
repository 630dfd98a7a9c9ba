"""`toolgauge probe`: measure one endpoint from the command line, without a database."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from signal import Signals
from typing import Any

from cli.probe.output_files import check_writable, write_file
from cli.probe.probe_options import (
    UsageError,
    read_earlier_profile,
    read_plan,
    read_target,
    read_thresholds,
)
from cli.probe.report_formats import as_junit, as_markdown, summary_line
from cli.probe.terminal_progress import Progress
from cli.terminal import print_message, print_result
from health.report_comparison import find_regressions
from health.run_report import Report
from probes import fingerprint
from probes.errors import ProbesError
from probes.fingerprint import EngineFacts
from probes.measurement import MeasurementPlan, measure_endpoint
from probes.messages import JSON
from probes.outcomes import Attempt, Metric, Outcome
from probes.suite import SUITE_VERSION
from probes.suite.question_builder import MAX_TOKENS
from probes.suite.sampling import MAX_PROMPT_TOKENS, estimate_price
from probes.target import Target
from probes.transcripts import write_transcript
from probes.transport import Transport

GOOD, BELOW, USAGE, NO_VERDICT = 0, 1, 2, 3
# A shell's exit code of a command that a signal ended is this and the signal's number.
SIGNALLED = 128
# A prompt with its tools (about 250, docs/real-model.md), some history and a short answer; a model
# that thinks for long takes more, up to the ceiling.
TYPICAL_TOKENS = 600


def run(options: argparse.Namespace) -> int:
    """Measure the endpoint, print the report, and return the exit code."""
    try:
        return _run(options)
    except (UsageError, ProbesError) as exc:
        _print_error(str(exc))
        return USAGE


def _run(options: argparse.Namespace) -> int:
    target, plan = read_target(options), read_plan(options)
    thresholds, earlier = read_thresholds(options.fail_under), read_earlier_profile(options.against)
    for path in filter(None, (options.junit, options.transcript)):
        check_writable(path)
    if options.plan:
        print_result(json.dumps(_plan_json(target, plan), indent=2))
        return GOOD
    interruption = _Interruption()
    report = asyncio.run(_measure(target, plan, options.seed, interruption))
    if interruption.signal is not None:
        return _end_early(report, plan, interruption.signal, as_json=options.json)
    _print_report(report, options)
    if suggestion := report.dialect_suggestion:
        _print_error(f"try --dialect {suggestion.dialect}. {suggestion.reason}")
    if options.junit:
        write_file(options.junit, as_junit(report))
    if options.transcript:
        recorded = write_transcript(target, report.attempts, report.key, seed=options.seed)
        write_file(options.transcript, recorded)
    return _exit_code(report, thresholds, earlier)


def _plan_json(target: Target, plan: MeasurementPlan) -> dict[str, JSON]:
    first = estimate_price(plan.trials)
    more = fingerprint.MOST_REQUESTS
    return {
        "key": target.profile_key().as_json(),
        "probe_version": SUITE_VERSION,
        "suite": plan.suite,
        "attempts": len(plan.trials),
        "requests": first.requests + more,
        "max_requests": plan.room + more,
        "expected_tokens": first.requests * TYPICAL_TOKENS,
        "token_ceiling": (plan.room + 1) * (MAX_TOKENS + MAX_PROMPT_TOKENS),
    }


@dataclass
class _Interruption:
    """The signal that ended a measurement early, if one did."""

    signal: Signals | None = None

    def watch(self, task: asyncio.Task[Any]) -> None:
        """Cancel the task when the process is told to stop."""
        for number in (signal.SIGINT, signal.SIGTERM):
            task.get_loop().add_signal_handler(number, self._stop, task, number)

    def _stop(self, task: asyncio.Task[Any], number: Signals) -> None:
        self.signal = number
        task.cancel()


def _end_early(report: Report, plan: MeasurementPlan, number: Signals, *, as_json: bool) -> int:
    """Say what was done, and print it if JSON was asked for; returns the exit code."""
    if as_json and report.attempts:
        print_result(json.dumps({**report.as_json(), "stopped": number.name}, indent=2))
    done = f"{len(report.attempts)} of {len(plan.trials)} attempts"
    _print_error(f"stopped by {number.name} after {done}; no file was written.")
    return SIGNALLED + number


async def _measure(
    target: Target, plan: MeasurementPlan, seed: str, interruption: _Interruption
) -> Report:
    task = asyncio.current_task()
    assert task is not None
    interruption.watch(task)
    engine = EngineFacts()
    attempts: list[Attempt] = []
    end = asyncio.get_running_loop().time() + plan.deadline_s
    with Progress(target, plan) as progress:
        async with Transport(target.limits, at_once=target.max_concurrency) as transport:
            engine_task = asyncio.create_task(fingerprint.read_engine(target, transport))
            measurement = measure_endpoint(target, plan, seed=seed, transport=transport)
            try:
                async with aclosing(measurement):
                    async for attempt in measurement:
                        attempts.append(attempt)
                        progress.show(attempt)
                engine = await _wait_for_engine_facts(end, engine_task)
            except asyncio.CancelledError:
                if interruption.signal is None:
                    raise
            finally:
                engine_task.cancel()
    key = target.profile_key(engine.chat_template_hash)
    facts = fingerprint.merge_facts(engine, attempts) | _chosen_facts(target, engine)
    attempts.sort(key=lambda attempt: (attempt.probe, attempt.trial))
    return Report(key, datetime.now(UTC), attempts, {**facts, "seed": seed})


def _chosen_facts(target: Target, engine: EngineFacts) -> dict[str, JSON]:
    """What was chosen or declared for the endpoint, where that differs from what it shows."""
    facts: dict[str, JSON] = {"dialect": target.dialect} if target.dialect else {}
    declared, measured = target.chat_template_hash, engine.chat_template_hash
    if declared and measured and declared != measured:
        _print_error(
            f"the endpoint reports the chat template {measured[:12]}…, not the declared one "
            f"({declared[:12]}…); the reported one is used."
        )
        facts["declared_chat_template_hash"] = declared
    return facts


async def _wait_for_engine_facts(end: float, task: asyncio.Task[EngineFacts]) -> EngineFacts:
    """The facts about the endpoint, or none if they do not arrive in time."""
    try:
        async with asyncio.timeout_at(end):
            return await task
    except TimeoutError:
        return EngineFacts()


def _print_report(report: Report, options: argparse.Namespace) -> None:
    if options.markdown:
        print_result(as_markdown(report))
    elif options.junit and not options.json:
        print_message(summary_line(report))
    else:
        # Plain ASCII: safe for every terminal and every encoding.
        print_result(json.dumps(report.as_json(), indent=2))


def _exit_code(
    report: Report, thresholds: Mapping[Metric, float], earlier: Mapping[str, JSON] | None
) -> int:
    if (why := _no_verdict_reason(report.attempts)) is not None:
        _print_error(f"no verdict. {why}")
        return NO_VERDICT
    code = GOOD
    for metric, threshold in thresholds.items():
        rate = report.metrics[metric]
        if rate.value is None:
            _print_error(f"no verdict on {metric}: it had no trial.")
            code = code or NO_VERDICT
        elif rate.is_worse_than(threshold):
            figures = f"{rate.value:.3f} ({rate.count}/{rate.trials})"
            _print_error(f"{metric} is {figures}, the bar is {threshold:g}.")
            code = BELOW
    for line in find_regressions(earlier, report.as_json()) if earlier else []:
        _print_error(line)
        code = BELOW
    return code


def _no_verdict_reason(attempts: Sequence[Attempt]) -> str | None:
    """Why half of the attempts or more are void; None if they are not."""
    void = [attempt for attempt in attempts if attempt.outcome is Outcome.VOID]
    if 2 * len(void) < len(attempts):
        return None
    why = next((f.message for attempt in void for f in attempt.findings), "Nothing was tried.")
    if len(void) == len(attempts):
        return why
    return f"{len(void)} of {len(attempts)} attempts are void: {why}"


def _print_error(text: str) -> None:
    print_message(f"toolgauge probe: {text}")
