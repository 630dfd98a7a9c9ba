"""Gemini's stream of partial answers, read into events and written from them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from probes.adapters.gemini.content_parts import (
    FORMAT,
    MAX_PARTS,
    camel_case_fields,
    is_plain,
    read_part,
)
from probes.adapters.gemini.reply import (
    PARTS,
    assemble_reply,
    first_candidate,
    read_error,
    read_usage,
    write_chunk,
    write_failure,
    write_reply_part,
)
from probes.adapters.json_fields import (
    Notes,
    copy_object,
    fields_with_values,
    own_fields,
    text_or_empty,
    unread_fields,
)
from probes.adapters.reply_errors import keeps_error, reply_error
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
    Opaque,
    Part,
    Reasoning,
    ReasoningKind,
    Reply,
    Stop,
    Text,
    ToolCall,
    Usage,
)
from probes.streams.assembler import Assembler
from probes.streams.sse import MAX_EVENT, SSEDecoder
from probes.strict_json import parse_json


class GeminiStreamReader:
    """Bytes of one streamed answer to events."""

    def __init__(self, seed: str = "") -> None:
        self._decoder = SSEDecoder(max_line=MAX_EVENT)
        self._parts = Assembler(max_parts=MAX_PARTS)
        self._notes = Notes(seed)
        self._root: dict[str, JSON] = {}
        self._usage: dict[str, JSON] = {}
        self._candidate: dict[str, JSON] = {}
        self._done: dict[int, Part] = {}
        self._count = 0
        self._run: tuple[int, bool] | None = None
        self._error: Mapping[str, JSON] | None = None

    def feed(self, data: bytes) -> list[Event]:
        for event in self._decoder.feed(data):
            self._read_data(event.data, too_large=event.too_large)
        return self._parts.take_events()

    def close(self) -> list[Event]:
        for event in self._decoder.close():
            self._read_data(event.data, too_large=event.too_large)
        if self._decoder.stray:
            self._read_unframed(self._decoder.stray)
        if not self._parts.ended:
            self._end()
        return self._parts.take_events()

    def _read_data(self, data: str, *, too_large: bool) -> None:
        if self._error is not None:
            return
        if too_large:
            self._notes.note("too_large", "$")
        elif data.strip() == "[DONE]":
            self._notes.note("done_marker", "$")
        elif isinstance(chunk := parse_json(data, max_bytes=MAX_EVENT).value, Mapping):
            self._chunk(chunk)
        else:
            self._notes.note("invalid_event", "$")

    def _read_unframed(self, text: str) -> None:
        """Read an answer without SSE framing: whole, or as a list of chunks."""
        self._notes.note("not_streamed", "$")
        body = parse_json(text, max_bytes=MAX_EVENT).value
        for chunk in body if isinstance(body, list) else [body]:
            if isinstance(chunk, Mapping):
                self._chunk(chunk)

    def _chunk(self, chunk: Mapping[str, JSON]) -> None:
        if self._error is None and read_error(chunk) is not None:
            error = chunk.get("error")
            self._error = error if isinstance(error, Mapping) else chunk
            return
        self._usage.update(copy_object(chunk, "usageMetadata"))
        self._root |= unread_fields(chunk, "candidates", "usageMetadata")
        if not self._parts.begun:
            id_, model = (text_or_empty(chunk.get(key)) for key in ("responseId", "modelVersion"))
            self._parts.begin(id_, model, Usage(read_usage(self._usage).input_tokens))
        try:
            candidate = first_candidate(chunk, self._notes)
        except WireError as exc:
            self._notes.note("unreadable_chunk", exc.at)
            return
        self._candidate |= unread_fields(candidate, "content")
        parts = copy_object(candidate, "content").get("parts")
        for item in parts if isinstance(parts, list) else ():
            self._part(item)

    def _part(self, item: JSON) -> None:
        entry = camel_case_fields(item) if isinstance(item, Mapping) else {}
        content = entry.get("text")
        if not is_plain(entry) or not isinstance(content, str):
            self._end_run()
            self._add_part(entry)
            return
        thought = entry.get("thought") is True
        if content and (self._run is None or self._run[1] != thought):
            self._end_run()
            kind = PartKind.REASONING if thought else PartKind.TEXT
            if not self._parts.start(self._count, kind):
                return
            self._run = (self._count, thought)
            self._count += 1
        if content and self._run is not None:
            self._parts.extend(self._run[0], content)

    def _add_part(self, entry: Mapping[str, JSON]) -> None:
        key = self._count
        seed = f"{text_or_empty(self._root.get('responseId'))}\n{key}"
        try:
            part = read_part(entry, f"{PARTS}[{key}]", self._notes, seed)
        except WireError as exc:
            self._notes.note("unreadable_part", exc.at)
            part = Opaque(FORMAT, entry)
        if not isinstance(part, ToolCall | BrokenCall):
            added = self._parts.add(key, part)
        elif added := self._parts.start(key, PartKind.CALL, id=part.id, name=part.name):
            # Not ended yet: the finish reason may reject it.
            self._parts.extend(key, part.raw)
        if added:
            self._done[key] = part
            self._count += 1

    def _end_run(self) -> None:
        if self._run is None:
            return
        key, thought = self._run
        self._run = None
        text = self._parts.text(key)
        part: Part = Text(text)
        if thought:
            raw: dict[str, JSON] = {"text": text, "thought": True}
            part = Reasoning(text, ReasoningKind.THOUGHT, raw)
        self._done[key] = part
        self._parts.finish(key, part)

    def _end(self) -> None:
        self._end_run()
        parts = [self._done[key] for key in range(self._count)]
        if self._decoder.comments:
            self._notes.note("comment_in_stream", "$")
        for deviation in self._parts.deviations:
            self._notes.note(deviation.name, deviation.path)
        blocked = "promptFeedback" in self._root and not self._candidate
        is_complete = self._error is None and ("finishReason" in self._candidate or blocked)
        if not is_complete:
            self._notes.note("error_in_stream" if self._error else "stream_cut_off", "$")
        if self._usage:
            self._root["usageMetadata"] = self._usage
        if self._error is not None:
            self._root["error"] = self._error
        reply = assemble_reply(self._root, self._candidate, parts, self._notes)
        if not is_complete:
            reply = replace(reply, stop=Stop.ERROR)
        for key, part in enumerate(reply.parts):
            self._parts.finish(key, part)
        self._parts.end(reply)


@dataclass(slots=True)
class _Pending:
    """A part that has begun, and its unwritten text."""

    kind: PartKind
    texts: list[str] = field(default_factory=list)
    written: bool = False
    part: Part | None = None


class GeminiStreamWriter:
    """Events to chunks, each a partial answer with the id and the model."""

    def __init__(self, head: ReplyHead = NO_HEAD) -> None:
        self._head = StreamHead(head)
        self._pending: dict[int, _Pending] = {}

    def write(self, event: Event) -> bytes:
        match event:
            case PartStarted():
                self._pending[event.index] = _Pending(event.kind)
            case PartDelta() if event.index in self._pending:
                self._pending[event.index].texts.append(event.text)
            case PartEnded() if event.index in self._pending:
                self._pending[event.index].part = event.part
            case ReplyStarted() | ReplyEnded():
                self._head.read(event)
            case _:
                pass
        parts = list(self._ready())
        if isinstance(event, ReplyEnded):
            return _frame(_last_chunk(parts, self._head.apply(event.reply)))
        return _frame(self._chunk(parts)) if parts else b""

    def heartbeat(self) -> bytes:
        return b"" if self._head.ended else _frame(self._chunk([]))

    def _chunk(self, parts: Sequence[JSON]) -> dict[str, JSON]:
        content: JSON = {"role": "model", "parts": list(parts)}
        names = fields_with_values(
            modelVersion=self._head.model or None, responseId=self._head.id or None
        )
        return {"candidates": [{"content": content, "index": 0}], **names}

    def _ready(self) -> Iterator[JSON]:
        while self._pending:
            index, pending = next(iter(self._pending.items()))
            if pending.part is None:
                yield from _grown(pending)
                return
            yield from _finished(pending, pending.part)
            del self._pending[index]


def _grown(pending: _Pending) -> Iterator[JSON]:
    """The text that can be written. The last piece waits, because a signature belongs on it."""
    if pending.kind not in (PartKind.TEXT, PartKind.REASONING) or len(pending.texts) < 2:
        return
    *texts, last = pending.texts
    pending.texts, pending.written = [last], True
    yield _text_part(pending.kind, "".join(texts))


def _finished(pending: _Pending, part: Part) -> Iterator[JSON]:
    written = write_reply_part(part)
    if written is None:
        return
    if pending.written:
        written = written | {"text": "".join(pending.texts)}
    yield written


def _text_part(kind: PartKind, text: str) -> dict[str, JSON]:
    part: dict[str, JSON] = {"text": text}
    return part | ({"thought": True} if kind is PartKind.REASONING else {})


def _last_chunk(parts: Sequence[JSON], reply: Reply) -> dict[str, JSON]:
    if reply.stop is Stop.ERROR:
        error = copy_object(own_fields(reply.extra, FORMAT), "error")
        return {"error": error} if keeps_error(error, reply) else write_failure(reply_error(reply))
    return write_chunk(parts, reply)


def _frame(body: Mapping[str, JSON]) -> bytes:
    return f"data: {json.dumps(body)}\n\n".encode("ascii")
