"""Runs the scripts of a suite against an endpoint, concurrently within its limit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime

from probes import fingerprint
from probes.adapters import adapter_for
from probes.dialects import DIALECTS
from probes.dialects.base import Dialect
from probes.error_judge import judge_error
from probes.errors import Phase, ProbesError, TargetError, TimedOut
from probes.exchange import EndpointClient
from probes.exchange_evidence import Exchange, record_evidence
from probes.messages import Usage
from probes.outcomes import Attempt, Finding, Metric, Verdict
from probes.pacing import Pacer
from probes.redaction import Redactor
from probes.suite import PROBES, Trial
from probes.suite.base import Answer, Judgement, Probe, Question, rng_for
from probes.suite.question_builder import QuestionBuilder
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
    probes: Mapping[str, Probe] = PROBES,
) -> AsyncGenerator[Attempt, None]:
    """Run every trial and yield one attempt for each, as they complete.

    Up to `target.max_concurrency` requests are in flight. Closing the iterator early
    (`contextlib.aclosing`) cancels them. A transport that the caller passes stays open. `dialect`
    is the measured dialect; the provider's is the default.
    """
    planned = tuple(trials)
    unknown = [trial.probe for trial in planned if trial.probe not in probes]
    if unknown:
        raise TargetError(f"There is no probe {unknown[0]!r}.")
    async with AsyncExitStack() as stack:
        if transport is None:
            transport = await stack.enter_async_context(Transport(target.limits))
        adapter = adapter_for(target.provider)
        client = EndpointClient(target, adapter, transport, Pacer(target.max_concurrency))
        dialect = dialect or DIALECTS[target.provider]
        builder = QuestionBuilder(target.model, dialect, adapter.format, target.options)
        tasks = [
            asyncio.create_task(_run_trial(client, builder, probes[trial.probe], trial, seed))
            for trial in planned
        ]
        try:
            for finished in asyncio.as_completed(tasks):
                yield await finished
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


@dataclass
class _ScriptRun:
    """One running script, and its exchanges so far."""

    client: EndpointClient
    exchanges: list[Exchange] = field(default_factory=list)
    waited_s: float = 0

    async def run(
        self, probe: Probe, builder: QuestionBuilder, seed: str | int, trial: int
    ) -> Judgement:
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
        results = await asyncio.gather(*(self.client.ask(question) for question in questions))
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


async def _run_trial(
    client: EndpointClient, builder: QuestionBuilder, probe: Probe, trial: Trial, seed: str | int
) -> Attempt:
    started_at = datetime.now(UTC)
    script_run = _ScriptRun(client)
    judgement = await script_run.run(probe, builder, seed, trial.trial)
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
    available = Verdict(Metric.AVAILABILITY, judgement.reached)
    return Attempt(
        probe=trial.probe,
        trial=trial.trial,
        outcome=judgement.outcome,
        findings=findings,
        verdicts=(*judgement.verdicts, available),
        evidence=record_evidence(exchanges, findings, redactor),
        started_at=started_at,
        http_status=last.status if last else None,
        latency_ms=first.total_ms if first else None,
        first_byte_ms=first.first_byte_ms if first else None,
        usage=_total_usage([reply.usage for reply in replies]),
        fingerprint={name: redactor.text(fact)[:MAX_FACT] for name, fact in facts.items()},
        facts=judgement.facts,
    )


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
