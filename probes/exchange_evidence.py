from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from probes.findings import Finding
from probes.http_messages import Chunk, WireRequest, WireResponse
from probes.messages import JSON, BrokenCall, Reply, ToolCall
from probes.output_limit import OutputLimit
from probes.redaction import Redactor

MAX_BODY = 256 * 1024
MAX_CHUNKS = 4096
MAX_HEADER = 1024
# Margin for a secret that begins before the limit, so that it is redacted before the cut.
_MARGIN = 16 * 1024

REQUEST_HEADERS = frozenset({"accept", "accept-encoding", "content-type", "user-agent"})
REPLY_HEADERS = frozenset(
    {
        "content-encoding",
        "content-length",
        "content-type",
        "date",
        "location",
        "openai-processing-ms",
        "openai-version",
        "request-id",
        "retry-after",
        "server",
        "transfer-encoding",
        "via",
        "x-request-id",
    }
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The exchanges behind an attempt as plain JSON values, already redacted and bounded."""

    exchanges: tuple[JSON, ...] = ()
    findings: tuple[JSON, ...] = ()

    @property
    def requests(self) -> int:
        """How many of the exchanges were sent."""
        return sum(
            isinstance(exchange, Mapping) and bool(exchange.get("request"))
            for exchange in self.exchanges
        )

    def as_json(self) -> dict[str, JSON]:
        return {"exchanges": list(self.exchanges), "findings": list(self.findings)}


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its result, not yet redacted: it stays inside `probes`."""

    outgoing: WireRequest | None = None
    incoming: WireResponse | None = None
    reply: Reply | None = None
    error: str | None = None
    label: str = ""
    took_s: float = 0  # in flight, without the wait for a slot
    retried: tuple[WireResponse, ...] = ()  # earlier answers to the same request
    output_limit: OutputLimit | None = None  # as the endpoint took it
    # Whether the endpoint took the request; None if it was never sent, or if that is not known.
    is_reached: bool | None = None

    @property
    def reconnects(self) -> int:
        """How often a request was sent again because its idle connection had been closed."""
        answers = (*self.retried, self.incoming)
        return sum(answer is not None and answer.reconnected for answer in answers)

    def without_excess(self) -> Exchange:
        """The exchange with the bytes that evidence keeps, and no more."""
        return replace(
            self,
            outgoing=_limit_request(self.outgoing) if self.outgoing else None,
            incoming=_limit_response(self.incoming) if self.incoming else None,
        )


def record_evidence(
    exchanges: Sequence[Exchange], findings: Sequence[Finding], redactor: Redactor
) -> Evidence:
    """The evidence of some exchanges. Findings must be redacted already."""
    return Evidence(
        exchanges=tuple(_exchange_json(exchange, redactor) for exchange in exchanges),
        findings=tuple(finding.as_json() for finding in findings),
    )


def _exchange_json(exchange: Exchange, redactor: Redactor) -> dict[str, JSON]:
    error = redactor.text(exchange.error) if exchange.error is not None else None
    body: dict[str, JSON] = {
        "label": exchange.label,
        "request": _request_json(exchange.outgoing, redactor) if exchange.outgoing else {},
        "reply": _reply_json(exchange.incoming, redactor) if exchange.incoming else None,
        "calls": list(_calls_json(exchange.reply, redactor)) if exchange.reply else [],
        "error": error,
    }
    if exchange.retried:
        body["retried"] = [_retry_json(each, redactor) for each in exchange.retried]
    if exchange.reconnects:
        body["reconnects"] = exchange.reconnects
    return body


def _retry_json(incoming: WireResponse, redactor: Redactor) -> dict[str, JSON]:
    return {
        "status": incoming.status,
        "headers": _headers_json(incoming.headers, REPLY_HEADERS, redactor),
        "total_ms": incoming.total_ms,
    }


def _request_json(outgoing: WireRequest, redactor: Redactor) -> dict[str, JSON]:
    body = redactor.text(outgoing.body.decode("utf-8", "replace"))
    return {
        "method": outgoing.method,
        "url": redactor.text(outgoing.url),
        "headers": _headers_json(outgoing.headers, REQUEST_HEADERS, redactor),
        "body": body[:MAX_BODY],
        "truncated": len(body) > MAX_BODY,
    }


def _reply_json(incoming: WireResponse, redactor: Redactor) -> dict[str, JSON]:
    chunks, is_cut = _chunks_json(incoming.chunks, redactor)
    return {
        "status": incoming.status,
        "http_version": incoming.http_version,
        "headers": _headers_json(incoming.headers, REPLY_HEADERS, redactor),
        "chunks": chunks,
        "bytes": incoming.size,
        "first_byte_ms": incoming.first_byte_ms,
        "total_ms": incoming.total_ms,
        "truncated": is_cut or incoming.dropped_bytes > 0,
    }


def _limit_request(outgoing: WireRequest) -> WireRequest:
    limit = MAX_BODY + _MARGIN
    if len(outgoing.body) <= limit:
        return outgoing
    text = outgoing.body.decode("utf-8", "replace")
    return replace(outgoing, body=text[:limit].encode())


def _limit_response(incoming: WireResponse) -> WireResponse:
    chunks, _ = _limit_chunks(incoming.chunks, MAX_BODY + _MARGIN)
    kept = replace(incoming, chunks=tuple(chunks))
    return replace(kept, dropped_bytes=incoming.size - kept.size + kept.dropped_bytes)


def _headers_json(
    headers: Mapping[str, str], allowed: frozenset[str], redactor: Redactor
) -> dict[str, JSON]:
    return {
        name.lower(): redactor.text(value)[:MAX_HEADER]
        for name, value in headers.items()
        if name.lower() in allowed
    }


def _chunks_json(chunks: Sequence[Chunk], redactor: Redactor) -> tuple[list[dict[str, JSON]], bool]:
    head, head_cut = _limit_chunks(chunks, MAX_BODY + _MARGIN)
    clean = redactor.chunks([chunk.data for chunk in head])
    redacted = [Chunk(chunk.ms, data) for chunk, data in zip(head, clean, strict=True)]
    limited, cut = _limit_chunks(redacted, MAX_BODY)
    return [_chunk_json(chunk) for chunk in limited], cut or head_cut


def _limit_chunks(chunks: Sequence[Chunk], size: int) -> tuple[list[Chunk], bool]:
    limited: list[Chunk] = []
    for chunk in chunks:
        if size <= 0 or len(limited) >= MAX_CHUNKS:
            return limited, True
        limited.append(Chunk(chunk.ms, chunk.data[:size]))
        if len(chunk.data) > size:
            return limited, True
        size -= len(chunk.data)
    return limited, False


def _chunk_json(chunk: Chunk) -> dict[str, JSON]:
    try:
        text = chunk.data.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    # NUL is valid UTF-8, but no database text can hold it.
    if "\0" in text:
        return {"ms": chunk.ms, "base64": base64.b64encode(chunk.data).decode("ascii")}
    return {"ms": chunk.ms, "text": text}


def _calls_json(reply: Reply, redactor: Redactor) -> tuple[JSON, ...]:
    room = MAX_BODY
    calls: list[JSON] = []
    for part in reply.parts:
        if isinstance(part, ToolCall | BrokenCall):
            room -= len(part.raw) + len(part.name) + len(part.id)
            calls.append({"truncated": True} if room < 0 else redactor.json(_call_json(part)))
    return tuple(calls)


def _call_json(call: ToolCall | BrokenCall) -> dict[str, JSON]:
    facts: dict[str, JSON] = {"id": call.id, "name": call.name, "raw": call.raw}
    if isinstance(call, BrokenCall):
        return facts | {"kind": str(call.kind), "error": call.error, "path": call.path}
    return facts | {"input": call.input, "format": call.format, "repairs": list(call.repairs)}
