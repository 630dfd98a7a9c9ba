"""One exchange of a transcript: the request, the bytes of the answer, and what was read in them."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from probes.errors import ProbesError, Refused, TargetError
from probes.http_messages import Chunk, WireResponse
from probes.messages import JSON, Reply
from probes.suite.base import Answer


@dataclass(frozen=True, slots=True)
class RecordedExchange:
    """An exchange; `incoming` is None if the answer is incomplete.

    `read` summarises the parsed answer. It is null if the answer was not parsed.
    """

    label: str
    url: str
    request: JSON
    incoming: WireResponse | None
    read: JSON = None

    def with_read(self, read: JSON) -> RecordedExchange:
        return replace(self, read=read)

    def as_json(self) -> dict[str, JSON]:
        reply = None if self.incoming is None else _reply_json(self.incoming)
        return {
            "label": self.label,
            "url": self.url,
            "request": self.request,
            "reply": reply,
            "read": self.read,
        }


def from_evidence(exchange: JSON) -> RecordedExchange:
    """The exchange of an attempt's evidence, without times and parsed values."""
    entry = _mapping(exchange)
    request, reply = _mapping(entry.get("request")), entry.get("reply")
    try:
        body: JSON = json.loads(str(request.get("body")))
    except ValueError:
        body = None
    is_complete = body is not None and isinstance(reply, Mapping) and not reply.get("truncated")
    incoming = _incoming(_mapping(reply)) if is_complete else None
    return RecordedExchange(str(entry.get("label")), str(request.get("url", "")), body, incoming)


def from_json(data: JSON) -> RecordedExchange:
    """Read what `as_json` wrote; raises TargetError if it is invalid or was changed since."""
    entry = _mapping(data)
    reply = entry.get("reply")
    recorded = RecordedExchange(
        str(entry.get("label")),
        str(entry.get("url")),
        entry.get("request"),
        None if reply is None else _incoming(_mapping(reply)),
        entry.get("read"),
    )
    if recorded.incoming is not None and _digest(recorded.incoming) != _mapping(reply).get(
        "sha256"
    ):
        raise TargetError(f"The bytes of the answer {recorded.label!r} are not those recorded.")
    return recorded


def summarise_reading(answer: Answer | ProbesError) -> JSON:
    """Summarise a parsed answer, so that two readings can be compared."""
    if isinstance(answer, ProbesError):
        return {"error": type(answer).__name__}
    if isinstance(answer.refusal, Refused):
        return {"refused": str(answer.refusal.kind)}
    assert answer.reply is not None
    return as_plain_json(_reply_summary(answer.reply))


def as_plain_json(value: JSON) -> JSON:
    """The value after a round trip through JSON."""
    copy: JSON = json.loads(json.dumps(value))
    return copy


def _reply_summary(reply: Reply) -> JSON:
    return {
        "text": reply.text,
        "reasoning": reply.reasoning,
        "stop": str(reply.stop),
        "calls": [
            {
                "id": call.id,
                "name": call.name,
                "input": call.input,
                "format": call.format,
                "repairs": list(call.repairs),
            }
            for call in reply.calls
        ],
        "broken": [str(call.kind) for call in reply.broken],
        "deviations": [deviation.name for deviation in reply.deviations],
        "usage": reply.usage.as_json(),
        "model": reply.model,
    }


def _reply_json(incoming: WireResponse) -> dict[str, JSON]:
    return {
        "status": incoming.status,
        "headers": dict(incoming.headers),
        "chunks": [_chunk_json(chunk.data) for chunk in incoming.chunks],
        "sha256": _digest(incoming),
    }


def _chunk_json(data: bytes) -> JSON:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


def _incoming(reply: Mapping[str, JSON]) -> WireResponse:
    status, headers, chunks = reply.get("status"), reply.get("headers"), reply.get("chunks")
    if not isinstance(status, int) or not isinstance(chunks, list):
        raise TargetError("An answer of the transcript has no status or no bytes.")
    header_values = {str(name): str(value) for name, value in _mapping(headers).items()}
    return WireResponse(status, header_values, tuple(Chunk(0, _data(chunk)) for chunk in chunks))


def _data(chunk: JSON) -> bytes:
    """The bytes of a chunk, as written in evidence or in a transcript."""
    if isinstance(chunk, Mapping) and "base64" in chunk:
        try:
            return base64.b64decode(str(chunk["base64"]), validate=True)
        except binascii.Error as exc:
            raise TargetError("An answer of the transcript is not base64.") from exc
    text = chunk.get("text") if isinstance(chunk, Mapping) else chunk
    if not isinstance(text, str):
        raise TargetError("An answer of the transcript holds something that is no text.")
    return text.encode("utf-8", "surrogatepass")


def _digest(incoming: WireResponse) -> str:
    return hashlib.sha256(b"%d\n" % incoming.status + incoming.body).hexdigest()


def _mapping(value: JSON) -> Mapping[str, JSON]:
    if not isinstance(value, Mapping):
        raise TargetError("Something in the transcript is not the object that belongs there.")
    return value
