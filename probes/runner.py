from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeAlias

from probes import fingerprint
from probes.adapters import Adapter, adapter_for
from probes.adapters.addresses import request_url
from probes.answers import read_answer
from probes.attempts import Attempt, Finding, Metric, Outcome, Verdict
from probes.errors import ProbesError, TargetError
from probes.evidence import Exchange, record
from probes.judgement import judge_error
from probes.messages import ModelCall, Usage
from probes.redaction import Redactor
from probes.suite import PROBES, Trial
from probes.suite.base import Judged, rng_for
from probes.target import Target
from probes.transport import Transport
from probes.wire import Incoming, Outgoing

MAX_MESSAGE = 500
MAX_FACT = 200
MAX_FINDINGS = 50

Send: TypeAlias = Callable[[Outgoing], Awaitable[Incoming]]


async def run(
    target: Target, trials: Iterable[Trial], *, seed: str | int, transport: Transport | None = None
) -> AsyncGenerator[Attempt, None]:
    """Try every trial and yield one attempt for each, as they complete.

    Up to `target.max_concurrency` are in flight. Close the iterator early (`contextlib.aclosing`)
    and what is in flight is cancelled. A transport that is given stays open.
    """
    planned = tuple(trials)
    unknown = [trial.probe for trial in planned if trial.probe not in PROBES]
    if unknown:
        raise TargetError(f"There is no probe {unknown[0]!r}.")
    async with AsyncExitStack() as stack:
        if transport is None:
            transport = await stack.enter_async_context(Transport(target.limits))
        send = transport.send
        slots = asyncio.Semaphore(target.max_concurrency)

        async def attempt(trial: Trial) -> Attempt:
            async with slots:
                return await _attempt(target, trial, seed, send)

        tasks = [asyncio.create_task(attempt(trial)) for trial in planned]
        try:
            for done in asyncio.as_completed(tasks):
                yield await done
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _attempt(target: Target, trial: Trial, seed: str | int, send: Send) -> Attempt:
    probe = PROBES[trial.probe]
    drawn = probe.draw(rng_for(seed, trial.probe, trial.trial))
    started_at = datetime.now(UTC)
    exchange = Exchange()
    try:
        adapter = adapter_for(target.provider)
        outgoing = _outgoing(target, adapter, probe.call(drawn, target.model))
        exchange = Exchange(outgoing)
        incoming = await send(outgoing)
        exchange = Exchange(outgoing, incoming)
        reply = read_answer(adapter, incoming)
        exchange = Exchange(outgoing, incoming, reply)
        judged = probe.judge(drawn, reply)
    except ProbesError as exc:
        arrived = exc.received or exchange.incoming
        exchange = replace(exchange, incoming=arrived, error=exc.message)
        judged = judge_error(exc, probe.owes)
    return _attempt_from(trial, started_at, exchange, judged, Redactor(target.key))


def _outgoing(target: Target, adapter: Adapter, call: ModelCall) -> Outgoing:
    body = adapter.write_request(replace(call, options=target.options))
    return Outgoing(
        method="POST",
        url=request_url(adapter, target.base_url, target.model),
        headers={"Content-Type": "application/json", **adapter.headers(target.key)},
        body=json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"),
    )


def _attempt_from(
    trial: Trial, started_at: datetime, exchange: Exchange, judged: Judged, redactor: Redactor
) -> Attempt:
    findings = tuple(_clean(finding, redactor) for finding in judged.findings[:MAX_FINDINGS])
    incoming, reply = exchange.incoming, exchange.reply
    facts = fingerprint.take(incoming, reply)
    available = Verdict(Metric.AVAILABILITY, judged.outcome is not Outcome.VOID)
    return Attempt(
        probe=trial.probe,
        trial=trial.trial,
        outcome=judged.outcome,
        findings=findings,
        verdicts=(*judged.verdicts, available),
        evidence=record(exchange, findings, redactor),
        started_at=started_at,
        http_status=incoming.status if incoming else None,
        latency_ms=incoming.total_ms if incoming else None,
        first_byte_ms=incoming.first_byte_ms if incoming else None,
        usage=reply.usage if reply else Usage(),
        fingerprint={name: redactor.text(fact)[:MAX_FACT] for name, fact in facts.items()},
    )


def _clean(finding: Finding, redactor: Redactor) -> Finding:
    # Redacted before it is cut, so that no half of a secret is left at the cut.
    message = redactor.text(finding.message)[:MAX_MESSAGE]
    return Finding(finding.kind, message, redactor.text(finding.path)[:MAX_MESSAGE])
