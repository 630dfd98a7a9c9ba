"""`toolgauge probe`: measure one endpoint from the command line, without a database."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Mapping
from contextlib import aclosing
from datetime import UTC, datetime

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

GOOD, BELOW, USAGE, NO_VERDICT, STOPPED = 0, 1, 2, 3, 130


def run(options: argparse.Namespace) -> int:
    """Measure the endpoint, print the report, and return the exit code."""
    try:
        return _run(options)
    except (UsageError, ProbesError) as exc:
        _print_error(str(exc))
        return USAGE
    except KeyboardInterrupt:
        _print_error("stopped; no file was written.")
        return STOPPED


def _run(options: argparse.Namespace) -> int:
    target, plan = read_target(options), read_plan(options)
    thresholds, earlier = read_thresholds(options.fail_under), read_earlier_profile(options.against)
    for path in filter(None, (options.junit, options.transcript)):
        check_writable(path)
    if options.plan:
        print_result(json.dumps(_plan_json(target, plan), indent=2))
        return GOOD
    report = asyncio.run(_measure(target, plan, options.seed))
    _print_report(report, options)
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
        "token_ceiling": (plan.room + 1) * (MAX_TOKENS + MAX_PROMPT_TOKENS),
    }


async def _measure(target: Target, plan: MeasurementPlan, seed: str) -> Report:
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
            finally:
                engine_task.cancel()
    key = target.profile_key(engine.chat_template_hash)
    facts = fingerprint.merge_facts(engine, attempts)
    attempts.sort(key=lambda attempt: (attempt.probe, attempt.trial))
    return Report(key, datetime.now(UTC), attempts, {**facts, "seed": seed})


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
    if all(attempt.outcome is Outcome.VOID for attempt in report.attempts):
        why = next((f.message for a in report.attempts for f in a.findings), "Nothing was tried.")
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


def _print_error(text: str) -> None:
    print_message(f"toolgauge probe: {text}")
