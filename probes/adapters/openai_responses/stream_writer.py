"""Writes a streamed answer of the Responses API."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from probes.adapters.json_fields import object_or_empty, own_inner_fields, text_or_empty
from probes.adapters.openai_responses.items import FORMAT, item_id, write_items, write_text
from probes.adapters.openai_responses.reply import write_reply
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
from probes.messages import JSON, Opaque, Part, Reasoning, Reply, Stop, Text, ToolCall


@dataclass(slots=True)
class _Message:
    """The message item that texts are written into."""

    position: int
    id: str
    source: str
    open: int = 0
    content: list[JSON] = field(default_factory=list)
    own: dict[str, JSON] = field(default_factory=dict)


@dataclass(slots=True)
class _Open:
    """A part in progress. `at` holds its position as event fields."""

    started: PartStarted
    message: _Message | None = None
    position: int = 0  # in the message's content
    at: dict[str, JSON] = field(default_factory=dict)
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.pieces)


class ResponsesStreamWriter:
    """Events to named events. Calls are written whole, so that a broken one is never sent.

    The id is sent first and must not change, because clients reject that.
    """

    def __init__(self, head: ReplyHead = NO_HEAD) -> None:
        self._head = StreamHead(head)
        self._sequence = 0
        self._outputs = 0
        self._open: dict[int, _Open] = {}
        self._message: _Message | None = None
        self._begun = False

    def write(self, event: Event) -> bytes:
        match event:
            case ReplyStarted():
                self._head.read(event)
                return b""
            case PartStarted():
                return self._first() + self._start(event)
            case PartDelta():
                return self._grow(self._open[event.index], event.text)
            case PartEnded():
                return self._finish(self._open.pop(event.index), event.part)
            case ReplyEnded():
                self._head.read(event)
                return self._first() + self._close_message() + self._end(event.reply)

    def heartbeat(self) -> bytes:
        if self._head.ended:
            return b""
        return self._first() or self._event("response.in_progress", response=self._started())

    @property
    def _id(self) -> str:
        return self._head.id

    def _first(self) -> bytes:
        if self._begun:
            return b""
        self._begun = True
        self._head.id = self._id or f"resp_{uuid.uuid4().hex}"
        created = self._event("response.created", response=self._started())
        return created + self._event("response.in_progress", response=self._started())

    def _started(self) -> dict[str, JSON]:
        reply = Reply((), Stop.OTHER, id=self._id, model=self._head.model)
        return {**write_reply(reply, self._head.given), "status": "in_progress"}

    def _start(self, event: PartStarted) -> bytes:
        part = self._open[event.index] = _Open(event)
        if event.kind is PartKind.TEXT:
            return self._start_text(part)
        if self._message is not None and not self._message.open:
            return self._close_message()
        return b""

    def _grow(self, part: _Open, text: str) -> bytes:
        started = part.started
        part.pieces.append(text)
        if started.kind is PartKind.TEXT:
            kind = "response.refusal.delta" if started.name else "response.output_text.delta"
            blank: dict[str, JSON] = {} if started.name else {"logprobs": []}
            return self._event(kind, **part.at, delta=text, **blank)
        if started.kind is PartKind.REASONING:
            data = b"" if part.at else self._start_reasoning(part)
            return data + self._event(_reasoning_event(part, "delta"), **part.at, delta=text)
        return b""

    def _finish(self, part: _Open, value: Part) -> bytes:
        match value:
            case Text():
                return self._finish_text(part, value)
            case Reasoning():
                return self._finish_reasoning(part, value)
            case ToolCall() | Opaque():
                return self._whole_item(part, value)
            case _:
                return b""

    # Messages.

    def _start_text(self, part: _Open) -> bytes:
        started = part.started
        data, message = b"", self._message
        if message is None or message.source != started.id:
            data = self._close_message()
            id_ = started.id or item_id("msg", started.index, self._id)
            message = self._message = _Message(self._next_position(), id_, started.id)
            item = _message_item(message, "in_progress")
            data += self._event(
                "response.output_item.added", output_index=message.position, item=item
            )
        message.open += 1
        part.message, part.position = message, len(message.content)
        part.at = {
            "item_id": message.id,
            "output_index": message.position,
            "content_index": part.position,
        }
        message.content.append(None)
        empty = Text("", {FORMAT: {"type": "refusal"}} if started.name else {})
        entry = write_text(empty, full=True)
        return data + self._event("response.content_part.added", **part.at, part=entry)

    def _finish_text(self, part: _Open, value: Text) -> bytes:
        message = part.message
        assert message is not None
        data = b"" if part.pieces or not value.text else self._grow(part, value.text)
        entry = write_text(value, full=True)
        message.open -= 1
        message.content[part.position] = entry
        message.own = own_inner_fields(value.extra, FORMAT, "item") or message.own
        if part.started.name:
            data += self._event("response.refusal.done", **part.at, refusal=value.text)
        else:
            done = "response.output_text.done"
            data += self._event(done, **part.at, text=value.text, logprobs=[])
        return data + self._event("response.content_part.done", **part.at, part=entry)

    def _close_message(self) -> bytes:
        message, self._message = self._message, None
        if message is None:
            return b""
        item = {**_message_item(message, "completed"), **message.own}
        return self._event("response.output_item.done", output_index=message.position, item=item)

    # Reasoning, calls and opaque items.

    def _start_reasoning(self, part: _Open) -> bytes:
        id_ = part.started.id or item_id("rs", part.started.index, self._id)
        position = self._next_position()
        item: dict[str, JSON] = {"type": "reasoning", "id": id_, "summary": []}
        data = self._event("response.output_item.added", output_index=position, item=item)
        part.at = {"item_id": id_, "output_index": position}
        if part.started.name != "summary_text":
            part.at["content_index"] = 0
            return data
        part.at["summary_index"] = 0
        empty: JSON = {"type": "summary_text", "text": ""}
        return data + self._event("response.reasoning_summary_part.added", **part.at, part=empty)

    def _finish_reasoning(self, part: _Open, value: Reasoning) -> bytes:
        if not part.at:
            return self._whole_item(part, value)
        text = part.text
        data = self._event(_reasoning_event(part, "done"), **part.at, text=text)
        if "summary_index" in part.at:
            entry: JSON = {"type": "summary_text", "text": text}
            done = "response.reasoning_summary_part.done"
            data += self._event(done, **part.at, part=entry)
        items = write_items((value,), seed=self._id, first=part.started.index)
        position = part.at["output_index"]
        return data + self._event("response.output_item.done", output_index=position, item=items[0])

    def _whole_item(self, part: _Open, value: Part) -> bytes:
        items = write_items((value,), seed=self._id, first=part.started.index)
        if not items:
            return b""
        item = object_or_empty(items[0])
        position = self._next_position()
        if not isinstance(value, ToolCall):
            added = self._event("response.output_item.added", output_index=position, item=item)
            return added + self._event(
                "response.output_item.done", output_index=position, item=item
            )
        return self._call(item, position)

    def _call(self, item: Mapping[str, JSON], position: int) -> bytes:
        name = "input" if item.get("type") == "custom_tool_call" else "arguments"
        arguments = text_or_empty(item.get(name))
        begun = {**item, name: "", "status": "in_progress"}
        at: dict[str, JSON] = {"item_id": item.get("id"), "output_index": position}
        data = self._event("response.output_item.added", output_index=position, item=begun)
        kind = "custom_tool_call_input" if name == "input" else "function_call_arguments"
        if arguments:
            data += self._event(f"response.{kind}.delta", **at, delta=arguments)
        done = {name: arguments} | ({} if name == "input" else {"name": item.get("name")})
        data += self._event(f"response.{kind}.done", **at, **done)
        return data + self._event("response.output_item.done", output_index=position, item=item)

    def _end(self, reply: Reply) -> bytes:
        head = self._head.given
        body = write_reply(self._head.apply(reply), ReplyHead(created=head.created))
        return self._event(f"response.{body['status']}", response=body)

    def _next_position(self) -> int:
        self._outputs += 1
        return self._outputs - 1

    def _event(self, kind: str, **fields: JSON) -> bytes:
        body = {"type": kind, "sequence_number": self._sequence, **fields}
        self._sequence += 1
        return f"event: {kind}\ndata: {json.dumps(body)}\n\n".encode()


def _message_item(message: _Message, status: str) -> dict[str, JSON]:
    return {
        "type": "message",
        "role": "assistant",
        "content": [*message.content],
        "id": message.id,
        "status": status,
    }


def _reasoning_event(part: _Open, what: str) -> str:
    name = "reasoning_summary_text" if "summary_index" in part.at else "reasoning_text"
    return f"response.{name}.{what}"
