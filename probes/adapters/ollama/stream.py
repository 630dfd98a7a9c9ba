"""Ollama's NDJSON stream, read into events and written from them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from probes.adapters.json_fields import Notes, text_or_empty, unread_fields
from probes.adapters.ollama.reply import (
    assemble_reply,
    error_message_text,
    error_text,
    failed_reply,
    plain_text,
    write_last_line,
)
from probes.adapters.ollama.request import ASSISTANT_FIELDS, THINKING
from probes.adapters.ollama.tools import MAX_CALLS, read_call, write_call
from probes.adapters.stream_head import StreamHead
from probes.errors import WireError
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
    Part,
    Reasoning,
    ReasoningKind,
    Stop,
    Text,
    ToolCall,
)
from probes.streams.assembler import Assembler
from probes.streams.ndjson import MAX_RECORD, NDJSONDecoder, Record
from probes.strict_json import parse_json

CONTENT = "content"
KINDS = {CONTENT: PartKind.TEXT, THINKING: PartKind.REASONING}


class OllamaStreamReader:
    """Bytes of one streamed answer to events."""

    def __init__(self, seed: str = "") -> None:
        self._decoder = NDJSONDecoder()
        self._parts = Assembler(max_parts=MAX_CALLS + len(KINDS))
        self._notes = Notes(seed)
        self._root: dict[str, JSON] = {}
        self._message: dict[str, JSON] = {}
        self._order: list[str | int] = []
        self._calls: dict[int, ToolCall | BrokenCall] = {}
        self._has_content = False

    def feed(self, data: bytes) -> list[Event]:
        for record in self._decoder.feed(data):
            self._read_record(record)
        return self._parts.take_events()

    def close(self) -> list[Event]:
        for record in self._decoder.close():
            self._read_record(record)
        if not self._parts.ended:
            self._notes.note("stream_cut_off", "$")
            self._end(cut=True)
        return self._parts.take_events()

    def _read_record(self, record: Record) -> None:
        if self._parts.ended:
            return
        line = None if record.too_large else parse_json(record.text, max_bytes=MAX_RECORD).value
        if not isinstance(line, Mapping):
            self._notes.note("too_large" if record.too_large else "invalid_line", "$")
            return
        self._root |= unread_fields(line, "message")
        if not self._parts.begun:
            self._parts.begin(model=text_or_empty(line.get("model")))
        if (error := error_message_text(line)) is not None:
            self._end(error=error)
            return
        message = line.get("message")
        if isinstance(message, Mapping):
            self._read_message(message)
        if line.get("done") is True:
            self._end()

    def _read_message(self, message: Mapping[str, JSON]) -> None:
        self._message |= unread_fields(message, *ASSISTANT_FIELDS)
        for name in (THINKING, CONTENT):
            content = message.get(name)
            self._has_content = self._has_content or isinstance(content, str)
            if isinstance(content, str) and content:
                self._extend(name, content)
        calls = message.get("tool_calls")
        for item in calls if isinstance(calls, list) else ():
            self._add_call(item)

    def _extend(self, name: str, content: str) -> None:
        if self._parts.start(name, KINDS[name]):
            self._order.append(name)
            if self._calls:
                self._notes.note("text_after_calls", f"$.message.{name}")
        self._parts.extend(name, content)

    def _add_call(self, item: JSON) -> None:
        key = len(self._calls)
        try:
            call = read_call(item, f"$.message.tool_calls[{key}]", self._notes, f"\n{key}")
        except WireError as exc:
            self._notes.note("unreadable_call", exc.at)
            return
        if self._parts.start(key, PartKind.CALL, id=call.id, name=call.name):
            # The last call stays open until the end, which may report that it was cut off.
            self._finish_calls()
            self._order.append(key)
            self._calls[key] = call
            self._parts.extend(key, call.raw)

    def _finish_calls(self) -> None:
        if self._calls:
            key, call = next(reversed(self._calls.items()))
            self._parts.finish(key, call)

    def _end(self, *, error: str | None = None, cut: bool = False) -> None:
        if self._has_content and not self._order:
            self._parts.start(CONTENT, PartKind.TEXT)
            self._order.append(CONTENT)
        parts = [self._part(key) for key in self._order]
        if self._decoder.has_blank_lines:
            self._notes.note("blank_line", "$")
        for deviation in self._parts.deviations:
            self._notes.note(deviation.name, deviation.path)
        if error is not None:
            reply = failed_reply(self._root, parts, error, self._notes)
        else:
            reply = assemble_reply(self._root, self._message, parts, self._notes)
        if cut:
            reply = replace(reply, stop=Stop.ERROR)
        for key, part in zip(self._order, reply.parts, strict=False):
            self._parts.finish(key, part)
        for part in reply.parts[len(self._order) :]:
            self._parts.add("unparsed", part)
        self._parts.end(reply)

    def _part(self, key: str | int) -> Part:
        if isinstance(key, int):
            return self._calls[key]
        content = self._parts.text(key)
        if key == THINKING:
            return Reasoning(content, ReasoningKind.FIELD, THINKING)
        return Text(content)


class OllamaStreamWriter:
    """Events to lines, each with the model."""

    def __init__(self, head: ReplyHead = NO_HEAD) -> None:
        self._head = StreamHead(head)
        self._fields: dict[int, str] = {}
        self._written: set[int] = set()
        self._calls = 0

    def write(self, event: Event) -> bytes:
        match event:
            case ReplyStarted():
                self._head.read(event)
                return b""
            case PartStarted():
                names = {kind: name for name, kind in KINDS.items()}
                if event.kind in names:
                    self._fields[event.index] = names[event.kind]
                return b""
            case PartDelta():
                return self._delta(event.index, event.text)
            case PartEnded():
                return self._finish_part(event.index, event.part)
            case ReplyEnded():
                self._head.read(event)
                return self._last_line(event)

    def heartbeat(self) -> bytes:
        return b"" if self._head.ended else self._line({})

    def _delta(self, index: int, text: str) -> bytes:
        if index not in self._fields:
            return b""
        self._written.add(index)
        return self._line({self._fields[index]: text})

    def _finish_part(self, index: int, part: Part) -> bytes:
        if isinstance(part, ToolCall):
            self._calls += 1
            return self._line({"tool_calls": [write_call(part, self._calls - 1)]})
        text = plain_text(part)
        return self._delta(index, text) if text and index not in self._written else b""

    def _last_line(self, event: ReplyEnded) -> bytes:
        reply = event.reply
        if (error := error_text(reply)) is not None:
            return _encode({"error": error})
        message: dict[str, JSON] = {"role": "assistant", CONTENT: ""}
        return _encode(write_last_line(message, self._head.apply(reply)))

    def _line(self, fields: Mapping[str, JSON]) -> bytes:
        message: dict[str, JSON] = {"role": "assistant", CONTENT: ""} | dict(fields)
        return _encode({"model": self._head.model, "message": message, "done": False})


def _encode(body: Mapping[str, JSON]) -> bytes:
    return json.dumps(body).encode("ascii") + b"\n"
