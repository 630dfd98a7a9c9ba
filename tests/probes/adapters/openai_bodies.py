"""Streams of the two OpenAI formats, built and read for the tests."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from probes.adapters.base import Adapter
from probes.events import Event, PartDelta, PartEnded, PartStarted, ReplyEnded, ReplyStarted
from probes.messages import Part, Reply

DONE = b"data: [DONE]\n\n"


def data(body: object) -> bytes:
    return b"data: " + json.dumps(body).encode() + b"\n\n"


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **root: Any) -> bytes:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return data({"id": "c", "object": "chat.completion.chunk", "choices": [choice], **root})


def piece(arguments: Any = None, **entry: Any) -> dict[str, Any]:
    """One entry of a tool_calls delta."""
    function = {key: entry.pop(key) for key in ("name",) if key in entry}
    if arguments is not None:
        function["arguments"] = arguments
    return {**entry, "function": function}


def calls(*pieces: dict[str, Any]) -> bytes:
    return chunk({"tool_calls": list(pieces)})


def named_events(events: Iterable[dict[str, Any]]) -> bytes:
    """Events of the Responses API, numbered."""
    lines = []
    for number, event in enumerate(events):
        body = json.dumps({"sequence_number": number, **event})
        lines.append(f"event: {event['type']}\ndata: {body}\n\n")
    return "".join(lines).encode()


def read_events(adapter: Adapter, wire: bytes, size: int = 0) -> list[Event]:
    reader = adapter.read_stream()
    step = size or max(len(wire), 1)
    events: list[Event] = []
    for start in range(0, len(wire), step):
        events += reader.feed(wire[start : start + step])
    return events + reader.close()


def read_reply(adapter: Adapter, wire: bytes, size: int = 0) -> Reply:
    """The reply of a stream, after its events were checked."""
    return check_events(read_events(adapter, wire, size))


def check_events(events: list[Event]) -> Reply:
    """The reply of events that fulfil the promises of `probes.events`."""
    first, *before, last = events
    assert isinstance(first, ReplyStarted)
    assert isinstance(last, ReplyEnded)
    texts: dict[int, list[str]] = {}
    parts: dict[int, Part] = {}
    for event in before:
        match event:
            case PartStarted():
                assert event.index == len(texts)
                texts[event.index] = []
            case PartDelta():
                assert event.index not in parts
                texts[event.index].append(event.text)
            case PartEnded():
                assert event.index in texts
                assert event.index not in parts
                parts[event.index] = event.part
            case _:
                raise AssertionError(event)
    assert tuple(parts[index] for index in sorted(parts)) == last.reply.parts
    assert len(parts) == len(texts)
    return last.reply


def deviation_names(reply: Reply) -> list[str]:
    return [note.name for note in reply.deviations]
