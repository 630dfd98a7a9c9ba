"""Parses a stream into events or lines, to change them and write them again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from probes.adapters.json_fields import text_or_empty
from probes.messages import JSON

_EVENT_END = b"\n\n"
# A field that only events of that format have.
_FORMAT_FIELDS = {"choices": "openai", "candidates": "gemini", "done": "ollama"}


@dataclass(frozen=True, slots=True)
class Frame:
    """One event or line: its JSON, or its bytes if it has none."""

    body: Mapping[str, JSON] | None
    event: str = ""
    raw: bytes = b""
    is_line: bool = False

    @property
    def type(self) -> str:
        """The event's type, in formats whose events have one."""
        return text_or_empty(self.body.get("type")) if self.body else ""

    def with_fields(self, **fields: JSON) -> Frame:
        """The frame with these fields of its JSON set."""
        return replace(self, body={**(self.body or {}), **fields})

    def write(self) -> bytes:
        if self.body is None:
            return self.raw
        data = json.dumps(self.body).encode("ascii")
        if self.is_line:
            return data + b"\n"
        name = f"event: {self.event}\n".encode() if self.event else b""
        return name + b"data: " + data + _EVENT_END


Rewrite: TypeAlias = Callable[[list[Frame]], list[Frame]]


def read_frames(chunks: Sequence[bytes]) -> list[Frame]:
    """The events of a stream, or its lines where it has no events."""
    data = b"".join(chunks)
    if data.startswith(b"{"):
        return [_read_line(line) for line in data.splitlines(keepends=True)]
    return [_read_event(block + _EVENT_END) for block in data.split(_EVENT_END) if block]


def detect_format(frames: list[Frame]) -> str:
    """The wire format of a stream, or "" if it is unknown."""
    for frame in frames:
        if frame.type.startswith("response."):
            return "openai_responses"
        if frame.type == "message_start":
            return "anthropic"
        for field, wire_format in _FORMAT_FIELDS.items():
            if field in (frame.body or {}):
                return wire_format
    return ""


def named_event(name: str, **fields: JSON) -> Frame:
    """An event with its name in both places, for formats that name their events."""
    return Frame({"type": name, **fields}, name)


def first_half(frames: list[Frame]) -> list[Frame]:
    """The frames sent before an interruption in the middle."""
    return frames[: max(1, len(frames) // 2)]


def _read_line(line: bytes) -> Frame:
    return Frame(_parse_body(line), raw=line, is_line=True)


def _read_event(block: bytes) -> Frame:
    event, data = "", b""
    for line in block.splitlines():
        name, _, value = line.partition(b": ")
        if name == b"event":
            event = value.decode()
        elif name == b"data":
            data = value
    return Frame(_parse_body(data), event, block)


def _parse_body(data: bytes) -> Mapping[str, JSON] | None:
    try:
        body = json.loads(data)
    except ValueError:
        return None
    return body if isinstance(body, dict) else None
