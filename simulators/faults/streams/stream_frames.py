"""A stream taken apart into its events or lines, to be changed there and written again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from probes.adapters.json_fields import text_or_empty
from probes.messages import JSON

_BLANK = b"\n\n"
# A field that only the events of that format have.
_SIGNS = {"choices": "openai", "candidates": "gemini", "done": "ollama"}


@dataclass(frozen=True, slots=True)
class Frame:
    """One event or line: its JSON, or the bytes that stand there instead of any."""

    body: Mapping[str, JSON] | None
    event: str = ""
    raw: bytes = b""
    is_line: bool = False

    @property
    def type(self) -> str:
        """What the event says it is, in the formats whose events do."""
        return text_or_empty(self.body.get("type")) if self.body else ""

    def having(self, **fields: JSON) -> Frame:
        """The frame with these fields of its JSON set."""
        return replace(self, body={**(self.body or {}), **fields})

    def write(self) -> bytes:
        if self.body is None:
            return self.raw
        data = json.dumps(self.body).encode("ascii")
        if self.is_line:
            return data + b"\n"
        name = f"event: {self.event}\n".encode() if self.event else b""
        return name + b"data: " + data + _BLANK


Rewrite: TypeAlias = Callable[[list[Frame]], list[Frame]]


def read_frames(chunks: Sequence[bytes]) -> list[Frame]:
    """The events of a stream, or its lines where it has no events."""
    data = b"".join(chunks)
    if data.startswith(b"{"):
        return [_read_line(line) for line in data.splitlines(keepends=True)]
    return [_read_event(block + _BLANK) for block in data.split(_BLANK) if block]


def detect_format(frames: list[Frame]) -> str:
    """The wire format that a stream is in, or "" where it cannot be told."""
    for frame in frames:
        if frame.type.startswith("response."):
            return "openai_responses"
        if frame.type == "message_start":
            return "anthropic"
        for sign, form in _SIGNS.items():
            if sign in (frame.body or {}):
                return form
    return ""


def named_event(name: str, **fields: JSON) -> Frame:
    """An event that says its name twice, as in the formats that name their events."""
    return Frame({"type": name, **fields}, name)


def first_half(frames: list[Frame]) -> list[Frame]:
    """What has been sent when something happens in the middle."""
    return frames[: max(1, len(frames) // 2)]


def _read_line(line: bytes) -> Frame:
    return Frame(_parsed(line), raw=line, is_line=True)


def _read_event(block: bytes) -> Frame:
    event, data = "", b""
    for line in block.splitlines():
        name, _, value = line.partition(b": ")
        if name == b"event":
            event = value.decode()
        elif name == b"data":
            data = value
    return Frame(_parsed(data), event, block)


def _parsed(data: bytes) -> Mapping[str, JSON] | None:
    try:
        body = json.loads(data)
    except ValueError:
        return None
    return body if isinstance(body, dict) else None
