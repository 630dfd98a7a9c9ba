"""Writes a streamed answer of Chat Completions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from probes.adapters.json_fields import object_or_empty, own_inner_fields, own_outer_fields
from probes.adapters.openai_chat.assistant_message import FORMAT, REASONING_FIELDS
from probes.adapters.openai_chat.body_writer import (
    DEFAULT_FIELD,
    finish_reason,
    reply_head,
    reply_usage,
    write_call,
)
from probes.adapters.openai_chat.errors import write_failure
from probes.adapters.reply_errors import keeps_error, reply_error
from probes.adapters.stream_head import StreamHead
from probes.adapters.tool_calls import is_native
from probes.call_arguments import call_argument_text
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
from probes.messages import (
    JSON,
    BrokenCall,
    Opaque,
    Part,
    Reasoning,
    ReasoningKind,
    Reply,
    Stop,
    Text,
    ToolCall,
)

DONE = b"data: [DONE]\n\n"


@dataclass(slots=True)
class _Open:
    """A part in progress."""

    started: PartStarted
    position: int = -1  # among the calls
    announced: bool = False
    held: list[str] = field(default_factory=list)
    written: bool = False


class OpenAIStreamWriter:
    """Events to chunks, each with the id and the model."""

    def __init__(self, head: ReplyHead = NO_HEAD) -> None:
        self._reply = StreamHead(head)
        self._head: dict[str, JSON] = {}
        self._open: dict[int, _Open] = {}
        self._calls = 0
        self._begun = False
        self._broken = False

    def write(self, event: Event) -> bytes:
        match event:
            case ReplyStarted():
                self._reply.read(event)
                return b""
            case PartStarted():
                return self._first() + self._start(event)
            case PartDelta():
                return self._grow(self._open[event.index], event.text)
            case PartEnded():
                return self._finish(self._open.pop(event.index), event)
            case ReplyEnded():
                self._reply.read(event)
                return self._first() + self._end(event.reply)

    def heartbeat(self) -> bytes:
        return b"" if self._reply.ended else self._first() + self._chunk({})

    def _first(self) -> bytes:
        if self._begun:
            return b""
        self._begun = True
        self._head = {
            "id": self._reply.id,
            "object": "chat.completion.chunk",
            "created": self._reply.given.created,
            "model": self._reply.model,
        }
        return self._chunk({"role": "assistant", "content": None})

    def _start(self, event: PartStarted) -> bytes:
        part = self._open[event.index] = _Open(event)
        # A call without an id is held back until it has one.
        if event.kind is PartKind.CALL and event.id and event.name:
            return self._announce(part, event.id, event.name)
        return b""

    def _announce(self, part: _Open, id_: str, name: str) -> bytes:
        part.position, part.announced = self._calls, True
        self._calls += 1
        function: dict[str, JSON] = {"name": name, "arguments": ""}
        return self._call(part, {"id": id_, "type": "function", "function": function})

    def _grow(self, part: _Open, text: str) -> bytes:
        started = part.started
        if started.kind is PartKind.CALL and not part.announced:
            part.held.append(text)
            return b""
        part.written = started.name != "reasoning_details"
        match started.kind:
            case PartKind.TEXT:
                return self._chunk({started.name or "content": text})
            case PartKind.REASONING if part.written:
                return self._chunk({_reasoning_field(started.name): text})
            case PartKind.CALL:
                return self._call(part, {"function": {"arguments": text}})
            case _:
                return b""

    def _finish(self, part: _Open, event: PartEnded) -> bytes:
        match event.part:
            case ToolCall() as call:
                return self._finish_call(part, call)
            case BrokenCall():
                # An announced call cannot be withdrawn; the finish reason says that it is no call.
                self._broken = self._broken or part.announced
                return b""
            case value:
                more = {} if part.written else _unwritten(part.started, value)
                return self._chunk(more) if more else b""

    def _finish_call(self, part: _Open, call: ToolCall) -> bytes:
        if is_native(call, FORMAT) and not part.announced:
            part.position, part.announced = self._calls, True
            self._calls += 1
            return self._call(part, write_call(call))
        data = b"" if part.announced else self._announce(part, call.id, call.name)
        if not part.written and (text := call_argument_text(call)):
            data += self._call(part, {"function": {"arguments": text}})
        own = own_outer_fields(call.extra, FORMAT)
        if inner := own_inner_fields(call.extra, FORMAT, "function"):
            own["function"] = inner
        return data + self._call(part, own) if own else data

    def _end(self, reply: Reply) -> bytes:
        named = self._reply.apply(reply)
        self._head = {**self._head, **_written_fields(reply_head(named, "chat.completion.chunk"))}
        if reply.stop is Stop.ERROR:
            error = object_or_empty(object_or_empty(reply.extra.get(FORMAT)).get("error"))
            kept = keeps_error(error, reply)
            return _data({"error": error} if kept else write_failure(reply_error(reply))) + DONE
        reason = finish_reason(reply)
        if self._broken and reason == "tool_calls":
            reason = "stop"
        message = own_inner_fields(reply.extra, FORMAT, "message")
        data = self._chunk(message, reason, own_inner_fields(reply.extra, FORMAT, "choice"))
        if self._reply.given.include_usage and (usage := reply_usage(reply)):
            data += _data({**self._head, "choices": [], "usage": usage})
        return data + DONE

    def _call(self, part: _Open, fields: Mapping[str, JSON]) -> bytes:
        return self._chunk({"tool_calls": [{"index": part.position, **fields}]})

    def _chunk(
        self,
        delta: Mapping[str, JSON],
        reason: str | None = None,
        extra: Mapping[str, JSON] | None = None,
    ) -> bytes:
        choice: dict[str, JSON] = {"index": 0, "delta": delta, "finish_reason": reason}
        return _data({**self._head, "choices": [{**choice, **(extra or {})}]})


def _unwritten(started: PartStarted, part: Part) -> dict[str, JSON]:
    """The delta for a part of which nothing was written yet."""
    match part:
        case Text():
            return {started.name or "content": part.text}
        case Reasoning(kind=ReasoningKind.DETAILS):
            return {"reasoning_details": part.raw}
        case Reasoning() if part.text or part.kind is ReasoningKind.FIELD:
            return {_reasoning_field(started.name): part.text}
        case Opaque() if part.format == FORMAT:
            return {"content": [part.raw]}
        case _:
            return {}


def _reasoning_field(name: str) -> str:
    return name if name in REASONING_FIELDS else DEFAULT_FIELD


def _written_fields(fields: Mapping[str, JSON]) -> dict[str, JSON]:
    unsaid = {key for key in ("id", "model", "created") if not fields.get(key)}
    return {key: value for key, value in fields.items() if key not in unsaid}


def _data(body: Mapping[str, JSON]) -> bytes:
    return b"data: " + json.dumps(body).encode() + b"\n\n"
