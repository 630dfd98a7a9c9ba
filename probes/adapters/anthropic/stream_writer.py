"""Events written as Anthropic's stream: one block at a time, each in its own sequence of events."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from probes.adapters.anthropic.blocks import FORMAT
from probes.adapters.anthropic.reply import (
    stop_word,
    write_counts,
    write_failure,
    write_reply_block,
    write_usage,
)
from probes.adapters.json_fields import copy_object, own_fields, unread_fields
from probes.adapters.reply_errors import keeps_error, reply_error
from probes.adapters.stream_head import StreamHead
from probes.events import (
    NO_HEAD,
    Event,
    PartDelta,
    PartEnded,
    PartKind,
    PartStarted,
    ReplyEnded,
    ReplyHead,
    ReplyStarted,
)
from probes.messages import JSON, Part, Reasoning, Reply, Stop, Text, ToolCall

# A long call is held back until it is complete; without pings a client would hang up.
DELTAS_PER_PING = 32
STREAMED_TYPES = {PartKind.TEXT: "text", PartKind.REASONING: "thinking"}


@dataclass(slots=True)
class _Pending:
    """A part that has begun, its unwritten text, and whether its block is open."""

    kind: PartKind
    texts: list[str] = field(default_factory=list)
    opened: bool = False
    part: Part | None = None


class AnthropicStreamWriter:
    """Events to server-sent events. Id and model are in the first one, before all parts."""

    def __init__(self, head: ReplyHead = NO_HEAD) -> None:
        self._head = StreamHead(head)
        self._started = False
        self._index = 0
        self._held_deltas = 0
        self._pending: dict[int, _Pending] = {}

    def write(self, event: Event) -> bytes:
        if isinstance(event, ReplyStarted | ReplyEnded):
            self._head.read(event)
        return b"" if isinstance(event, ReplyStarted) else b"".join(self._events(event))

    def heartbeat(self) -> bytes:
        return b"" if self._head.ended else self._open() + _event("ping", {})

    def _open(self) -> bytes:
        if self._started:
            return b""
        self._started = True
        return self._message_start()

    def _events(self, event: Event) -> Iterator[bytes]:
        yield self._open()
        match event:
            case PartStarted():
                self._pending[event.index] = _Pending(event.kind)
            case PartDelta() if event.index in self._pending:
                yield from self._add_delta(self._pending[event.index], event.text)
            case PartEnded() if event.index in self._pending:
                self._pending[event.index].part = event.part
            case _:
                pass
        yield from self._flush()
        if isinstance(event, ReplyEnded):
            yield from self._message_end(event.reply)

    def _flush(self) -> Iterator[bytes]:
        """Write what can be written: the earliest part, and later ones once it has ended."""
        while self._pending:
            index, pending = next(iter(self._pending.items()))
            if pending.kind in STREAMED_TYPES and pending.texts:
                yield from self._write_text(pending)
            if pending.part is None:
                return
            yield from self._finish(pending, pending.part)
            del self._pending[index]

    def _write_text(self, pending: _Pending) -> Iterator[bytes]:
        type_ = STREAMED_TYPES[pending.kind]
        if not pending.opened:
            pending.opened = True
            empty: dict[str, JSON] = {"type": type_, type_: ""}
            yield self._start(empty | ({"signature": ""} if type_ == "thinking" else {}))
        yield self._delta({"type": f"{type_}_delta", type_: "".join(pending.texts)})
        pending.texts = []

    def _finish(self, pending: _Pending, part: Part) -> Iterator[bytes]:
        if not pending.opened and (block := write_reply_block(part)) is not None:
            yield from self._write_block(block, part)
            pending.opened = True
        elif pending.opened:
            yield from self._write_tail(part)
        if pending.opened:
            yield _event("content_block_stop", {"index": self._index})
            self._index += 1

    def _write_block(self, block: dict[str, JSON], part: Part) -> Iterator[bytes]:
        match part:
            case ToolCall():
                yield self._start(block | {"input": {}})
                text = json.dumps(dict(part.input), ensure_ascii=False) if part.input else ""
                yield self._delta({"type": "input_json_delta", "partial_json": text})
            case Reasoning() if block.get("type") == "thinking" and "signature" in block:
                yield self._start(block | {"signature": ""})
                yield from self._write_tail(part)
            case _:
                yield self._start(block)

    def _write_tail(self, part: Part) -> Iterator[bytes]:
        """The last delta of a streamed block: its signature, or its citations."""
        match part:
            case Reasoning(raw={"signature": str(signature)}) if signature:
                yield self._delta({"type": "signature_delta", "signature": signature})
            case Text():
                citations = own_fields(part.extra, FORMAT).get("citations")
                for citation in citations if isinstance(citations, list | tuple) else ():
                    yield self._delta({"type": "citations_delta", "citation": citation})
            case _:
                pass

    def _add_delta(self, pending: _Pending, text: str) -> Iterator[bytes]:
        if pending.kind in STREAMED_TYPES:
            pending.texts.append(text)
            return
        self._held_deltas += 1
        if self._held_deltas >= DELTAS_PER_PING:
            self._held_deltas = 0
            yield _event("ping", {})

    def _message_start(self) -> bytes:
        message: dict[str, JSON] = {
            "id": self._head.id,
            "type": "message",
            "role": "assistant",
            "model": self._head.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": write_counts(self._head.usage),
        }
        return _event("message_start", {"message": message})

    def _message_end(self, reply: Reply) -> Iterator[bytes]:
        more = own_fields(reply.extra, FORMAT)
        if reply.stop is Stop.ERROR:
            error = copy_object(more, "error")
            kept = {"error": error} if keeps_error(error, reply) else {}
            yield _event("error", write_failure(reply_error(reply)) | kept)
            return
        delta: dict[str, JSON] = {"stop_reason": stop_word(reply), "stop_sequence": None}
        delta |= unread_fields(more, "usage", "stop_reason")
        yield _event("message_delta", {"delta": delta, "usage": write_usage(reply)})
        yield _event("message_stop", {})

    def _start(self, block: Mapping[str, JSON]) -> bytes:
        return _event("content_block_start", {"index": self._index, "content_block": block})

    def _delta(self, delta: Mapping[str, JSON]) -> bytes:
        return _event("content_block_delta", {"index": self._index, "delta": delta})


def _event(name: str, body: Mapping[str, JSON]) -> bytes:
    data = json.dumps({"type": name, **body})
    return f"event: {name}\ndata: {data}\n\n".encode("ascii")
