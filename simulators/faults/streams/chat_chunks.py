"""The chunks of a Chat Completions stream: deltas, the entries of calls, where calls start."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from probes.adapters.json_fields import list_or_empty, object_or_empty, text_or_empty, text_or_none
from probes.messages import JSON
from simulators.faults.streams.stream_frames import Frame, Rewrite

PIECE_LENGTH = 12
DONE = b"[DONE]"
Entry: TypeAlias = Mapping[str, JSON]


@dataclass(frozen=True, slots=True)
class StreamedCall:
    """The chunks of one call: the one that names it, and those that carry its arguments."""

    head: Frame
    rest: tuple[Frame, ...] = ()

    @property
    def entry(self) -> Entry:
        return read_entries(self.head)[0]

    @property
    def index(self) -> JSON:
        return self.entry.get("index")

    @property
    def text(self) -> str:
        """The whole argument text."""
        frames = (self.head, *self.rest)
        return "".join(read_arguments(entry) for frame in frames for entry in read_entries(frame))

    @property
    def frames(self) -> list[Frame]:
        return [self.head, *self.rest]

    def with_text(self, text: str) -> StreamedCall:
        """The same call with another argument text, in pieces as small as the vendor's."""
        head = with_entries(self.head, with_arguments(self.entry, ""))
        pieces = [text[start : start + PIECE_LENGTH] for start in range(0, len(text), PIECE_LENGTH)]
        return StreamedCall(head, tuple(self.piece(piece) for piece in pieces))

    def piece(self, text: str) -> Frame:
        """A chunk with a piece of the arguments."""
        return with_entries(self.head, {"index": self.index, "function": {"arguments": text}})

    def with_whole_arguments(self, arguments: JSON) -> StreamedCall:
        """The same call with all its arguments in the chunk that names it."""
        return StreamedCall(with_entries(self.head, with_arguments(self.entry, arguments)))

    def with_index(self, index: JSON) -> StreamedCall:
        """The same call under another index."""

        def moved(frame: Frame) -> Frame:
            return with_entries(
                frame, *({**entry, "index": index} for entry in read_entries(frame))
            )

        return StreamedCall(moved(self.head), tuple(moved(frame) for frame in self.rest))


@dataclass(frozen=True, slots=True)
class ChatStream:
    """A stream as its calls, and the frames before and after them."""

    before: tuple[Frame, ...]
    calls: tuple[StreamedCall, ...]
    after: tuple[Frame, ...]

    @property
    def frames(self) -> list[Frame]:
        call_frames = [frame for call in self.calls for frame in call.frames]
        return [*self.before, *call_frames, *self.after]


def read_stream(frames: list[Frame]) -> ChatStream:
    """Group a stream's frames into calls; other faults must not have changed it too much."""
    before: list[Frame] = []
    calls: list[StreamedCall] = []
    after: list[Frame] = []
    for frame in frames:
        entries = read_entries(frame)
        if not entries:
            (after if calls else before).append(frame)
        elif not calls or read_name(entries[0]):
            calls.append(StreamedCall(frame))
        else:
            calls[-1] = replace(calls[-1], rest=(*calls[-1].rest, frame))
    return ChatStream(tuple(before), tuple(calls), tuple(after))


def rewrite_calls(change: Callable[[StreamedCall], StreamedCall]) -> Rewrite:
    """A rewrite that changes every call separately."""

    def rule(frames: list[Frame]) -> list[Frame]:
        stream = read_stream(frames)
        return replace(stream, calls=tuple(map(change, stream.calls))).frames

    return rule


def rewrite_entries(change: Callable[[Entry], Entry]) -> Rewrite:
    """A rewrite that changes every entry of a tool_calls list separately."""

    def rule(frames: list[Frame]) -> list[Frame]:
        return [
            with_entries(frame, *map(change, entries))
            if (entries := read_entries(frame))
            else frame
            for frame in frames
        ]

    return rule


def read_delta(frame: Frame) -> Mapping[str, JSON]:
    return object_or_empty(_read_choice(frame).get("delta"))


def read_entries(frame: Frame) -> list[Entry]:
    return [object_or_empty(entry) for entry in list_or_empty(read_delta(frame).get("tool_calls"))]


def read_finish(frame: Frame) -> str | None:
    return text_or_none(_read_choice(frame).get("finish_reason"))


def with_entries(frame: Frame, *entries: Entry) -> Frame:
    return _with_choice(frame, delta={**read_delta(frame), "tool_calls": list(entries)})


def with_finish(frame: Frame, reason: str) -> Frame:
    return _with_choice(frame, finish_reason=reason)


def with_arguments(entry: Entry, arguments: JSON) -> Entry:
    return {**entry, "function": {**object_or_empty(entry.get("function")), "arguments": arguments}}


def read_name(entry: Entry) -> str:
    return text_or_empty(object_or_empty(entry.get("function")).get("name"))


def read_arguments(entry: Entry) -> str:
    return text_or_empty(object_or_empty(entry.get("function")).get("arguments"))


def parse_arguments(text: str) -> Mapping[str, JSON] | None:
    """The arguments as an object, or None if they are not one."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def is_done(frame: Frame) -> bool:
    return frame.body is None and DONE in frame.raw


def is_usage(frame: Frame) -> bool:
    body = frame.body or {}
    return bool(body.get("usage")) and not list_or_empty(body.get("choices"))


def _read_choice(frame: Frame) -> Mapping[str, JSON]:
    choices = list_or_empty((frame.body or {}).get("choices"))
    return object_or_empty(choices[0]) if choices else {}


def _with_choice(frame: Frame, **fields: JSON) -> Frame:
    return frame.with_fields(choices=[{**_read_choice(frame), **fields}])
