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
    read_bars,
    read_earlier_profile,
    read_plan,
    read_target,
)
from cli.probe.report_formats import as_junit, as_markdown, summary
from cli.probe.terminal_progress import Progress
from cli.terminal import print_message, print_result
from health.report import Report
from health.report_comparison import find_regressions
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
    """Measure, print, and return the exit code."""
    try:
        return _run(options)
    except (UsageError, ProbesError) as exc:
        _complain(str(exc))
        return USAGE
    except KeyboardInterrupt:
        _complain("stopped; no file was written.")
        return STOPPED


def _run(options: argparse.Namespace) -> int:
    target, plan = read_target(options), read_plan(options)
    bars, earlier = read_bars(options.fail_under), read_earlier_profile(options.against)
    for path in filter(None, (options.junit, options.transcript)):
        check_writable(path)
    if options.plan:
        print_result(json.dumps(_plan_json(target, plan), indent=2))
        return GOOD
    report = asyncio.run(_measure(target, plan, options.seed))
    _show(report, options)
    if options.junit:
        write_file(options.junit, as_junit(report))
    if options.transcript:
        recorded = write_transcript(target, report.attempts, report.key, seed=options.seed)
        write_file(options.transcript, recorded)
    return _verdict(report, bars, earlier)


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
            asking = asyncio.create_task(fingerprint.read_engine(target, transport))
            running = measure_endpoint(target, plan, seed=seed, transport=transport)
            try:
                async with aclosing(running):
                    async for attempt in running:
                        attempts.append(attempt)
                        progress.show(attempt)
                engine = await _engine_facts(end, asking)
            finally:
                asking.cancel()
    key = target.profile_key(engine.chat_template_hash)
    facts = fingerprint.merge_facts(engine, attempts)
    attempts.sort(key=lambda attempt: (attempt.probe, attempt.trial))
    return Report(key, datetime.now(UTC), attempts, {**facts, "seed": seed})


async def _engine_facts(end: float, asking: asyncio.Task[EngineFacts]) -> EngineFacts:
    """The facts about the endpoint, if they come in time."""
    try:
        async with asyncio.timeout_at(end):
            return await asking
    except TimeoutError:
        return EngineFacts()


def _show(report: Report, options: argparse.Namespace) -> None:
    if options.markdown:
        print_result(as_markdown(report))
    elif options.junit and not options.json:
        print_message(summary(report))
    else:
        # Plain ASCII: no terminal acts on it, and every encoding can carry it.
        print_result(json.dumps(report.as_json(), indent=2))


def _verdict(
    report: Report, bars: Mapping[Metric, float], earlier: Mapping[str, JSON] | None
) -> int:
    if all(attempt.outcome is Outcome.VOID for attempt in report.attempts):
        why = next((f.message for a in report.attempts for f in a.findings), "Nothing was tried.")
        _complain(f"no verdict. {why}")
        return NO_VERDICT
    code = GOOD
    for metric, bar in bars.items():
        rate = report.metrics[metric]
        if rate.value is None:
            _complain(f"no verdict on {metric}: it had no trial.")
            code = code or NO_VERDICT
        elif rate.is_worse_than(bar):
            figures = f"{rate.value:.3f} ({rate.count}/{rate.trials})"
            _complain(f"{metric} is {figures}, the bar is {bar:g}.")
            code = BELOW
    for line in find_regressions(earlier, report.as_json()) if earlier else []:
        _complain(line)
        code = BELOW
    return code


def _complain(text: str) -> None:
    print_message(f"toolgauge probe: {text}")
