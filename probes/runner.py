"""Runs the scripts of a suite against an endpoint, concurrently within its limit."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Coroutine, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from probes import fingerprint
from probes.adapters import adapter_for
from probes.dialects.base import Dialect
from probes.error_judge import judge_error
from probes.errors import Phase, ProbesError, TargetError, TimedOut
from probes.exchange import EndpointClient, Learnt
from probes.exchange_evidence import Exchange, record_evidence
from probes.messages import JSON, Usage
from probes.outcomes import LIMIT_FACT, RECONNECTED, Attempt, Finding, Metric, Verdict
from probes.output_limit import RENAMED, OutputLimit
from probes.pacing import Pacer, may_pass
from probes.redaction import Redactor
from probes.suite import PROBES, Trial, is_streamed, order_trials
from probes.suite.base import Answer, Judgement, Probe, Question, rng_for
from probes.suite.question_builder import QuestionBuilder
from probes.suite.replay_lessons import ReplayLessons, starting_dialect
from probes.target import Target
from probes.transport import Transport

MAX_MESSAGE = 500
MAX_FACT = 200
MAX_FINDINGS = 50


async def run_trials(  # noqa: PLR0913 - keyword-only, and each has a good default
    target: Target,
    trials: Iterable[Trial],
    *,
    seed: str | int,
    transport: Transport | None = None,
    dialect: Dialect | None = None,
    output_limit: OutputLimit | None = None,
    reasoning_replay: str = "",
    lessons: ReplayLessons | None = None,
    probes: Mapping[str, Probe] = PROBES,
) -> AsyncGenerator[Attempt, None]:
    """Run every trial and yield one attempt for each, as they complete.

    Up to `target.max_concurrency` requests are in flight. Closing the iterator early
    (`contextlib.aclosing`) cancels them. A transport that the caller passes stays open. The
    default of `dialect` is the target's. `output_limit` and the capability `reasoning_replay`
    were learnt before; `lessons` are those of an earlier part of the same run.
    """
    planned = tuple(trials)
    unknown = [trial.probe for trial in planned if trial.probe not in probes]
    if unknown:
        raise TargetError(f"There is no probe {unknown[0]!r}.")
    async with AsyncExitStack() as stack:
        if transport is None:
            transport = await stack.enter_async_context(Transport(target.limits))
        adapter = adapter_for(target.provider)
        learnt = Learnt(output_limit or OutputLimit())
        client = EndpointClient(target, adapter, transport, Pacer(target.max_concurrency), learnt)
        builder = QuestionBuilder(
            target.model,
            starting_dialect(dialect or target.resolve_dialect(), reasoning_replay),
            adapter.format,
            target.options,
            replay=lessons or ReplayLessons.from_measured(reasoning_replay),
        )
        # Each running script has a request in flight, so more of them would only wait; and those
        # that start later know what the earlier ones have learnt.
        gate = asyncio.Semaphore(target.max_concurrency)
        tasks = [
            asyncio.create_task(
                _run_in_turn(gate, _run_trial(client, builder, probes[trial.probe], trial, seed))
            )
            for trial in order_trials(planned)
        ]
        try:
            for finished in asyncio.as_completed(tasks):
                yield await finished
                gate.release()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


@dataclass
class _ScriptRun:
    """One running script, and its exchanges so far."""

    client: EndpointClient
    probe: Probe
    exchanges: list[Exchange] = field(default_factory=list)
    waited_s: float = 0

    async def run(self, builder: QuestionBuilder, seed: str | int, trial: int) -> Judgement:
        probe = self.probe
        values = probe.draw(rng_for(seed, probe.name, trial))
        script = probe.script(values, builder)
        try:
            questions = next(script)
            while True:
                questions = script.send(await self._ask(questions))
        except StopIteration as stop:
            judgement: Judgement = stop.value
            return judgement
        except ProbesError as exc:
            first = len(self.exchanges) <= 1
            return judge_error(exc, probe.refusal_metrics if first else ())
        finally:
            script.close()

    async def _ask(self, questions: Sequence[Question]) -> list[Answer]:
        """The answers to questions sent at the same time; raises the first error."""
        asking = (self.client.ask(question, self.probe.name) for question in questions)
        results = await asyncio.gather(*asking)
        self.exchanges += [exchange for exchange, _ in results]
        self.waited_s += max(exchange.took_s for exchange, _ in results)
        if self.waited_s > (limit := self.client.target.limits.attempt_s):
            # The wait for a slot is our own and does not count.
            message = f"The answers of the attempt took longer than {limit:g} s together."
            raise TimedOut(message, Phase.TOTAL)
        answers: list[Answer] = []
        for _, answer in results:
            if isinstance(answer, ProbesError):
                raise answer
            answers.append(answer)
        return answers


async def _run_in_turn(gate: asyncio.Semaphore, attempt: Coroutine[Any, Any, Attempt]) -> Attempt:
    """An attempt keeps its place until the caller has taken it: evidence must not pile up here."""
    try:
        await gate.acquire()
        return await attempt
    finally:
        # Without effect, unless it was cancelled before its turn.
        attempt.close()


async def _run_trial(
    client: EndpointClient, builder: QuestionBuilder, probe: Probe, trial: Trial, seed: str | int
) -> Attempt:
    started_at = datetime.now(UTC)
    script_run = _ScriptRun(client, probe)
    builder = replace(builder, stream=is_streamed(trial, seed))
    judgement = await script_run.run(builder, seed, trial.trial)
    return _build_attempt(
        trial, started_at, script_run.exchanges, judgement, Redactor(client.target.key)
    )


def _build_attempt(
    trial: Trial,
    started_at: datetime,
    exchanges: Sequence[Exchange],
    judgement: Judgement,
    redactor: Redactor,
) -> Attempt:
    findings = tuple(
        _redact_finding(finding, redactor) for finding in judgement.findings[:MAX_FINDINGS]
    )
    first = next((e.incoming for e in exchanges if e.incoming), None)
    last = next((e.incoming for e in reversed(exchanges) if e.incoming), None)
    replies = [exchange.reply for exchange in exchanges if exchange.reply]
    facts = fingerprint.read_reply_facts(first, replies[0] if replies else None)
    return Attempt(
        probe=trial.probe,
        trial=trial.trial,
        outcome=judgement.outcome,
        findings=findings,
        verdicts=(*judgement.verdicts, *_availability(exchanges)),
        evidence=record_evidence(exchanges, findings, redactor),
        started_at=started_at,
        http_status=last.status if last else None,
        latency_ms=first.total_ms if first else None,
        first_byte_ms=first.first_byte_ms if first else None,
        usage=_total_usage([reply.usage for reply in replies]),
        fingerprint={name: redactor.text(fact)[:MAX_FACT] for name, fact in facts.items()},
        facts={**judgement.facts, **_output_limit(exchanges)},
        retried=_count_retries(exchanges),
    )


def _count_retries(exchanges: Sequence[Exchange]) -> Counter[str]:
    """The answers that were retried by status, and the requests sent again without an answer."""
    retries = Counter(str(each.status) for e in exchanges for each in e.retried)
    reconnects = sum(exchange.reconnects for exchange in exchanges)
    return retries + Counter({RECONNECTED: reconnects})


def _output_limit(exchanges: Sequence[Exchange]) -> dict[str, JSON]:
    """The limit of output tokens that the endpoint took, where its name can differ."""
    taken = [e.output_limit for e in exchanges if e.output_limit and e.output_limit.parameter]
    return {LIMIT_FACT: taken[-1].as_json()} if taken and taken[-1].parameter in RENAMED else {}


def _availability(exchanges: Sequence[Exchange]) -> list[Verdict]:
    """One trial per request that was sent, retries included."""
    return [
        Verdict(Metric.AVAILABILITY, good=good)
        for exchange in exchanges
        if exchange.is_reached is not None
        for good in (*(not may_pass(each) for each in exchange.retried), exchange.is_reached)
    ]


def _total_usage(usages: Sequence[Usage]) -> Usage:
    """The usage of all exchanges together; None if none of them reported it."""

    def total(counts: list[int | None]) -> int | None:
        known = [count for count in counts if count is not None]
        return sum(known) if known else None

    return Usage(
        total([usage.input_tokens for usage in usages]),
        total([usage.output_tokens for usage in usages]),
        total([usage.reasoning_tokens for usage in usages]),
        total([usage.cached_tokens for usage in usages]),
    )


def _redact_finding(finding: Finding, redactor: Redactor) -> Finding:
    # Redacted before it is cut, so that no part of a secret remains at the cut.
    message = redactor.text(finding.message)[:MAX_MESSAGE]
    return Finding(finding.kind, message, redactor.text(finding.path)[:MAX_MESSAGE])
