"""One safe question to an endpoint, to see whether it answers and calls a tool at all.

The question is the suite's simplest, about a tool that does nothing, so what is judged here and
what a run judges are the same thing. It is sent once: no retry, no second question.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from probes.adapters import adapter_for
from probes.dialects import DIALECTS
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

# Enough for the call; a model that thinks for longer is told apart from one that cannot call.
FEW_TOKENS = 1024
MAX_SHOWN = 300


@dataclass(frozen=True, slots=True)
class TryResult:
    """What came of it. Every text is redacted and bounded; what a vendor wrote stays hostile."""

    url: str
    error: ProbesError | None = None
    said: str = ""  # the error in one sentence
    findings: tuple[Finding, ...] = ()
    format: str | None = None  # in which a call arrived: of the wire, or of a text parser
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
    """Ask once and say what came back, whatever it is."""
    adapter = adapter_for(target.provider)
    # Options may set a budget for thinking that has to fit below the limit.
    limit = MAX_TOKENS if target.options else FEW_TOKENS
    dialect = DIALECTS[target.provider]
    builder = QuestionBuilder(target.model, dialect, adapter.format, target.options, limit)
    asker = EndpointClient(target, adapter, transport, Pacer(1, tries=1))
    script = FORMAT.script(FORMAT.draw(random.Random()), builder)  # noqa: S311 -- no secret
    (question,) = next(script)
    exchange, answer = await asker.ask(question)
    trouble = answer.refusal if isinstance(answer, Answer) else answer
    if trouble is not None:
        script.close()
        judged = judge_error(trouble, ())
    else:
        assert isinstance(answer, Answer)
        try:
            script.send([answer])
        except StopIteration as ended:
            judged = ended.value
    return _try_result(exchange, judged, trouble, Redactor(target.key), limit)


def _try_result(
    exchange: Exchange, judged: Judgement, error: ProbesError | None, redactor: Redactor, limit: int
) -> TryResult:
    def shown(text: str | None) -> str:
        # Redacted before it is cut, so that no half of a secret is left at the cut.
        return redactor.text(text or "")[:MAX_SHOWN]

    reply, incoming = exchange.reply, exchange.incoming
    formats = judged.facts.get("formats")
    headers = incoming.headers if incoming else {}
    return TryResult(
        url=shown(exchange.outgoing.url) if exchange.outgoing else "",
        error=error,
        said=shown(error.message) if error else "",
        findings=tuple(Finding(f.kind, shown(f.message), f.path) for f in judged.findings),
        format=str(formats[0]) if isinstance(formats, list) and formats and formats[0] else None,
        call=shown(_call(reply)),
        text=shown(reply.text if reply else ""),
        status=incoming.status if incoming else None,
        headers={name: shown(headers.get(name)) for name in ("location", "content-type")},
        size=sum(len(chunk.data) for chunk in incoming.chunks) if incoming else 0,
        latency_ms=incoming.total_ms if incoming else None,
        model=shown(reply.model if reply else ""),
        usage=reply.usage if reply else Usage(),
        max_tokens=limit,
    )


def _call(reply: Reply | None) -> str:
    if reply is None or not reply.calls:
        return ""
    call = reply.calls[0]
    return f"{call.name} {json.dumps(call.input, ensure_ascii=False)}"
