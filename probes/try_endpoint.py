"""One safe request to an endpoint, to see whether it answers and calls a tool at all.

The question is the simplest of the suite, about a tool that does nothing, so this test and a run
judge the same thing. It is sent once: no retry, no second question.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from probes.adapters import adapter_for
from probes.error_judge import judge_error
from probes.errors import ProbesError
from probes.exchange import EndpointClient
from probes.exchange_evidence import Exchange
from probes.findings import Finding
from probes.messages import Reply, Usage
from probes.pacing import Pacer
from probes.redaction import Redactor
from probes.suite.base import Answer, Judgement
from probes.suite.format_probe import FORMAT
from probes.suite.question_builder import MAX_TOKENS, QuestionBuilder
from probes.target import Target
from probes.transport import Transport

# Enough for the call; a model that thinks for longer is reported as such.
FEW_TOKENS = 1024
MAX_SHOWN = 300


@dataclass(frozen=True, slots=True)
class TryResult:
    """The result of one request. All text is redacted and bounded; a vendor's text is untrusted."""

    url: str
    error: ProbesError | None = None
    error_text: str = ""  # the error in one sentence
    findings: tuple[Finding, ...] = ()
    format: str | None = None  # of the call: the wire format or a text parser
    call: str = ""
    text: str = ""
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    size: int = 0
    latency_ms: int | None = None
    model: str = ""  # as the answer names it
    usage: Usage = field(default_factory=Usage)
    max_tokens: int = FEW_TOKENS


async def try_once(target: Target, transport: Transport) -> TryResult:
    """Send one question and report the result, whatever it is."""
    adapter = adapter_for(target.provider)
    # Options may set a thinking budget, which has to fit below the limit.
    limit = MAX_TOKENS if target.options else FEW_TOKENS
    dialect = target.resolve_dialect()
    builder = QuestionBuilder(target.model, dialect, adapter.format, target.options, limit)
    client = EndpointClient(target, adapter, transport, Pacer(1, tries=1))
    script = FORMAT.script(FORMAT.draw(random.Random()), builder)  # noqa: S311 -- no secret
    (question,) = next(script)
    exchange, answer = await client.ask(question)
    error = answer.refusal if isinstance(answer, Answer) else answer
    if error is not None:
        script.close()
        judgement = judge_error(error, ())
    else:
        assert isinstance(answer, Answer)
        try:
            script.send([answer])
        except StopIteration as stop:
            judgement = stop.value
    return _try_result(exchange, judgement, error, Redactor(target.key), limit)


def _try_result(
    exchange: Exchange,
    judgement: Judgement,
    error: ProbesError | None,
    redactor: Redactor,
    limit: int,
) -> TryResult:
    def clean(text: str | None) -> str:
        # Redacted before it is cut, so that no part of a secret remains at the cut.
        return redactor.text(text or "")[:MAX_SHOWN]

    reply, incoming = exchange.reply, exchange.incoming
    formats = judgement.facts.get("formats")
    headers = incoming.headers if incoming else {}
    return TryResult(
        url=clean(exchange.outgoing.url) if exchange.outgoing else "",
        error=error,
        error_text=clean(error.message) if error else "",
        findings=tuple(Finding(f.kind, clean(f.message), f.path) for f in judgement.findings),
        format=str(formats[0]) if isinstance(formats, list) and formats and formats[0] else None,
        call=clean(_format_call(reply)),
        text=clean(reply.text if reply else ""),
        status=incoming.status if incoming else None,
        headers={name: clean(headers.get(name)) for name in ("location", "content-type")},
        size=sum(len(chunk.data) for chunk in incoming.chunks) if incoming else 0,
        latency_ms=incoming.total_ms if incoming else None,
        model=clean(reply.model if reply else ""),
        usage=reply.usage if reply else Usage(),
        max_tokens=limit,
    )


def _format_call(reply: Reply | None) -> str:
    if reply is None or not reply.calls:
        return ""
    call = reply.calls[0]
    return f"{call.name} {json.dumps(call.input, ensure_ascii=False)}"
