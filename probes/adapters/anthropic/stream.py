"""Anthropic's event stream, read into events; invalid sequences are read as far as possible."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from probes.adapters.anthropic.blocks import FORMAT, MAX_BLOCKS, THINKING, read_block
from probes.adapters.anthropic.reply import (
    assemble_reply,
    cut_last_call,
    read_error,
    read_reply,
    read_stop,
    read_usage,
)
from probes.adapters.json_fields import (
    Notes,
    argument_text,
    copy_object,
    text_or_empty,
    unread_fields,
)
from probes.adapters.tool_calls import BROKEN_OFF, as_broken, as_cut_off, breakage_of
from probes.call_arguments import MAX_BYTES, read_arguments
from probes.errors import WireError
from probes.events import Event, PartKind
from probes.messages import (
    JSON,
    Breakage,
    BrokenCall,
    Opaque,
    Part,
    Reasoning,
    ReasoningKind,
    Stop,
    ToolCall,
)
from probes.streams.assembler import Assembler
from probes.streams.sse import MAX_EVENT, ServerEvent, SSEDecoder
from probes.strict_json import parse_json

CALL = "tool_use"
NO_BLOCK = -1
TOO_LARGE = "The arguments are too large to be read."
TEXT_FIELDS = {"text": "text", "thinking": "thinking"}
KINDS = {"text": PartKind.TEXT, CALL: PartKind.CALL} | dict.fromkeys(THINKING, PartKind.REASONING)


@dataclass(slots=True)
class _Block:
    """One content block in progress: its start, and the deltas since."""

    key: int
    entry: dict[str, JSON]
    citations: list[JSON] = field(default_factory=list)
    server_input: list[str] = field(default_factory=list)
    server_input_size: int = 0

    @property
    def type(self) -> str:
        return str(self.entry.get("type"))

    @property
    def path(self) -> str:
        return f"$.content[{self.key}]"


class AnthropicStreamReader:
    """Bytes of one streamed message to events."""

    def __init__(self, seed: str = "") -> None:
        self._decoder = SSEDecoder(max_line=MAX_EVENT)
        self._parts = Assembler(max_parts=MAX_BLOCKS)
        self._notes = Notes(seed)
        self._message: dict[str, JSON] = {}
        self._usage: dict[str, JSON] = {}
        self._count = 0
        self._open: dict[int, _Block] = {}
        self._by_index: dict[int, int] = {}
        self._done: dict[int, Part] = {}
        self._held_call: int | None = None
        self._started = self._stopped = False
        self._error: Mapping[str, JSON] | None = None
        self._handlers: dict[str, Callable[[Mapping[str, JSON]], None]] = {
            "message_start": self._message_start,
            "content_block_start": self._block_start,
            "content_block_delta": self._block_delta,
            "content_block_stop": self._block_stop,
            "message_delta": self._message_delta,
            "message_stop": self._message_stop,
            "error": self._read_error_event,
            "ping": lambda _: None,
        }

    def feed(self, data: bytes) -> list[Event]:
        for event in self._decoder.feed(data):
            self._read_event(event)
        return self._parts.take_events()

    def close(self) -> list[Event]:
        for event in self._decoder.close():
            self._notes.note("unfinished_event", "$")
            self._read_event(event)
        if not self._parts.ended:
            self._end()
        return self._parts.take_events()

    def _read_event(self, event: ServerEvent) -> None:
        if self._parts.ended:
            return
        if event.too_large:
            self._notes.note("too_large", "$")
            return
        if event.data.strip() == "[DONE]":
            self._notes.note("done_marker", "$")
            return
        body = parse_json(event.data, max_bytes=MAX_EVENT).value
        if not isinstance(body, Mapping):
            self._notes.note("invalid_event", "$")
            return
        self._handle(str(body.get("type") or event.event), body)

    def _handle(self, name: str, body: Mapping[str, JSON]) -> None:
        handler = self._handlers.get(name)
        if handler is not None:
            handler(body)
        elif read_error(body) is not None:
            self._read_error_event(body)
        else:
            self._notes.note("unknown_event", f"$.{name[:60]}")

    def _message_start(self, body: Mapping[str, JSON]) -> None:
        self._started = True
        message = copy_object(body, "message")
        self._message = unread_fields(message, "content", "usage")
        self._usage.update(copy_object(message, "usage"))
        id_, model = (text_or_empty(message.get(name)) for name in ("id", "model"))
        self._parts.begin(id_, model, read_usage(self._usage))
        content = message.get("content")
        if isinstance(content, list) and content:
            self._notes.note("content_in_start", "$.content")
            for block in content[:MAX_BLOCKS]:
                self._block_start({"content_block": block})
            for open_block in list(self._open.values()):
                self._close(open_block)

    def _block_start(self, body: Mapping[str, JSON]) -> None:
        self._release_call()
        block = _Block(self._count, copy_object(body, "content_block"))
        kind = KINDS.get(block.type, PartKind.OPAQUE)
        called = block.entry if kind is PartKind.CALL else {}
        id_, name = (text_or_empty(called.get(field)) for field in ("id", "name"))
        index = body.get("index")
        if not self._parts.start(block.key, kind, id=id_, name=name):
            # Its deltas belong to no part, and must not go to the latest one.
            self._by_index |= {index: NO_BLOCK} if isinstance(index, int) else {}
            return
        self._count += 1
        self._open[block.key] = block
        if isinstance(index, int):
            self._by_index[index] = block.key
        if block.type in TEXT_FIELDS:
            self._parts.extend(block.key, text_or_empty(block.entry.get(TEXT_FIELDS[block.type])))

    def _block_delta(self, body: Mapping[str, JSON]) -> None:
        block = self._find(body.get("index"))
        if block is None:
            self._notes.note("delta_without_block", "$.content")
            return
        match copy_object(body, "delta"):
            case {"type": "text_delta", "text": str(text)} if block.type == "text":
                self._parts.extend(block.key, text)
            case {"type": "thinking_delta", "thinking": str(text)} if block.type == "thinking":
                self._parts.extend(block.key, text)
            case {"type": "input_json_delta", "partial_json": str(text)} if block.type == CALL:
                self._parts.extend(block.key, text)
            case {"type": "input_json_delta", "partial_json": str(text)}:
                self._keep_server_input(block, text)
            case {"type": "signature_delta", "signature": str(signature)}:
                block.entry["signature"] = signature
            case {"type": "citations_delta", "citation": citation}:
                block.citations.append(citation)
            case delta:
                kind = str(delta.get("type"))[:60]
                self._notes.note("unknown_delta", f"{block.path}.{kind}")

    def _keep_server_input(self, block: _Block, text: str) -> None:
        """Keep the input of a server tool's block; it is no argument text of a call."""
        block.server_input_size += len(text)
        if block.server_input_size > MAX_BYTES:
            self._notes.note("too_large", block.path)
        else:
            block.server_input.append(text)

    def _block_stop(self, body: Mapping[str, JSON]) -> None:
        block = self._find(body.get("index"))
        if block is None:
            self._notes.note("stop_without_block", "$.content")
        else:
            self._close(block)

    def _message_delta(self, body: Mapping[str, JSON]) -> None:
        usage = copy_object(body, "usage")
        self._usage.update((k, v) for k, v in usage.items() if v is not None)
        changes = copy_object(body, "delta") | unread_fields(body, "type", "delta", "usage")
        self._message |= {k: v for k, v in changes.items() if v is not None}

    def _message_stop(self, body: Mapping[str, JSON]) -> None:
        self._stopped = True
        self._end()

    def _read_error_event(self, body: Mapping[str, JSON]) -> None:
        error = body.get("error")
        self._error = error if isinstance(error, Mapping) else body
        self._end()

    def _find(self, index: JSON) -> _Block | None:
        if isinstance(index, int) and index in self._by_index:
            return self._open.get(self._by_index[index])
        # Some relays omit the index or count it wrong; then the latest block is meant.
        return next(reversed(self._open.values()), None)

    def _close(self, block: _Block) -> None:
        del self._open[block.key]
        self._done[block.key] = part = self._part(block)
        # Only the following events show whether the token limit cut the last call.
        if block.key == self._count - 1 and isinstance(part, ToolCall | BrokenCall):
            self._held_call = block.key
        else:
            self._parts.finish(block.key, part)

    def _release_call(self) -> None:
        if self._held_call is not None:
            self._parts.finish(self._held_call, self._done[self._held_call])
            self._held_call = None

    def _part(self, block: _Block) -> Part:
        entry = dict(block.entry)
        if block.type in TEXT_FIELDS:
            entry[TEXT_FIELDS[block.type]] = self._parts.text(block.key)
        if block.type == CALL:
            return self._call(block, entry)
        if block.citations:
            entry["citations"] = block.citations
        if block.server_input:
            entry["input"] = read_arguments("".join(block.server_input)).value
        return self._read_entry(block, entry)

    def _call(self, block: _Block, entry: dict[str, JSON]) -> Part:
        raw = self._parts.text(block.key)
        if not raw:
            # No delta at all means no arguments, unless the server sent them at once.
            if entry.get("input"):
                self._notes.note("input_in_start", block.path)
                self._parts.extend(block.key, argument_text(entry["input"]))
            return self._read_entry(block, {"input": {}} | entry)
        arguments = read_arguments(raw)
        for name in arguments.duplicate_keys:
            self._notes.note("duplicate_key", f"{block.path}.input.{name[:60]}")
        part = self._read_entry(block, entry | {"input": arguments.value or {}})
        if not isinstance(part, ToolCall):
            return part
        received = replace(part, raw=raw)
        if self._parts.is_cut(block.key):
            return as_broken(received, TOO_LARGE, Breakage.TOO_LARGE, block.path)
        if arguments.value is None:
            kind = breakage_of(arguments.error)
            return as_broken(received, arguments.error, kind, f"{block.path}.input")
        return part

    def _read_entry(self, block: _Block, entry: dict[str, JSON]) -> Part:
        try:
            return read_block(entry, block.path, self._notes)
        except WireError as exc:
            self._notes.note("unreadable_block", exc.at)
            return Opaque(FORMAT, entry)

    def _end(self) -> None:
        if not self._started and self._error is None and self._read_unstreamed():
            return
        reason = self._message.get("stop_reason")
        is_complete = self._error is None and (self._stopped or reason is not None)
        self._close_rest(is_complete=is_complete)
        if not is_complete:
            self._notes.note("error_in_stream" if self._error else "stream_cut_off", "$")
            self._finish(Stop.ERROR)
            return
        if not self._stopped:
            self._notes.note("missing_message_stop", "$")
        self._finish(read_stop(reason, self._ordered(), self._notes))

    def _close_rest(self, *, is_complete: bool) -> None:
        for block in list(self._open.values()):
            if is_complete:
                self._notes.note("missing_block_stop", "$.content")
                self._close(block)
            else:
                del self._open[block.key]
                self._done[block.key] = part = _unfinished(self._part(block), block.path)
                self._parts.finish(block.key, part)

    def _ordered(self) -> list[Part]:
        return [self._done[key] for key in range(self._count)]

    def _finish(self, stop: Stop) -> None:
        parts = cut_last_call(self._ordered(), stop)
        if self._held_call is not None:
            self._parts.finish(self._held_call, parts[self._held_call])
        self._message["usage"] = self._usage
        if self._error is not None:
            self._message["error"] = self._error
        for deviation in self._parts.deviations:
            self._notes.note(deviation.name, deviation.path)
        self._parts.end(assemble_reply(self._message, parts, stop, self._notes))

    def _read_unstreamed(self) -> bool:
        """Read an answer that came whole although a stream was requested."""
        body = parse_json(self._decoder.stray, max_bytes=MAX_EVENT).value
        if not isinstance(body, Mapping):
            return False
        if read_error(body) is not None:
            error = body.get("error")
            self._error = error if isinstance(error, Mapping) else body
            return False
        try:
            reply = read_reply(body, self._notes.seed)
        except WireError:
            return False
        self._parts.begin(reply.id, reply.model or "", reply.usage)
        for index, part in enumerate(reply.parts):
            self._parts.add(index, part)
        self._notes.note("not_streamed", "$")
        self._parts.end(replace(reply, deviations=(*reply.deviations, *self._notes.deviations)))
        return True


def _unfinished(part: Part, path: str) -> Part:
    """The remainder of a block in which the stream broke off."""
    match part:
        case ToolCall() | BrokenCall():
            return as_cut_off(part, f"{path}.input", BROKEN_OFF)
        case Reasoning(raw={"type": "thinking", **more}) if not more.get("signature"):
            # As a block it would be refused for its missing signature.
            return Reasoning(part.text, ReasoningKind.FIELD, "thinking")
        case _:
            return part
