"""The chunks of a Chat Completions stream: deltas, the entries of calls, and where calls begin."""

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
        return entries_of(self.head)[0]

    @property
    def index(self) -> JSON:
        return self.entry.get("index")

    @property
    def text(self) -> str:
        """The whole argument text."""
        frames = (self.head, *self.rest)
        return "".join(arguments_of(entry) for frame in frames for entry in entries_of(frame))

    @property
    def frames(self) -> list[Frame]:
        return [self.head, *self.rest]

    def saying(self, text: str) -> StreamedCall:
        """The same call with another argument text, in pieces as small as the vendor's."""
        head = with_entries(self.head, with_arguments(self.entry, ""))
        pieces = [text[at : at + PIECE_LENGTH] for at in range(0, len(text), PIECE_LENGTH)]
        return StreamedCall(head, tuple(self.piece(piece) for piece in pieces))

    def piece(self, text: str) -> Frame:
        """A chunk with more of the arguments."""
        return with_entries(self.head, {"index": self.index, "function": {"arguments": text}})

    def at_once(self, arguments: JSON) -> StreamedCall:
        """The same call with all of its arguments in the chunk that names it."""
        return StreamedCall(with_entries(self.head, with_arguments(self.entry, arguments)))

    def under(self, index: JSON) -> StreamedCall:
        """The same call under another index."""

        def moved(frame: Frame) -> Frame:
            return with_entries(frame, *({**entry, "index": index} for entry in entries_of(frame)))

        return StreamedCall(moved(self.head), tuple(moved(frame) for frame in self.rest))


@dataclass(frozen=True, slots=True)
class ChatStream:
    """A stream as its calls, what comes before them and what comes behind."""

    before: tuple[Frame, ...]
    calls: tuple[StreamedCall, ...]
    after: tuple[Frame, ...]

    @property
    def frames(self) -> list[Frame]:
        called = [frame for call in self.calls for frame in call.frames]
        return [*self.before, *called, *self.after]


def read_stream(frames: list[Frame]) -> ChatStream:
    """The stream, its calls put together; for streams that nothing has bent too far."""
    before: list[Frame] = []
    calls: list[StreamedCall] = []
    after: list[Frame] = []
    for frame in frames:
        entries = entries_of(frame)
        if not entries:
            (after if calls else before).append(frame)
        elif not calls or name_of(entries[0]):
            calls.append(StreamedCall(frame))
        else:
            calls[-1] = replace(calls[-1], rest=(*calls[-1].rest, frame))
    return ChatStream(tuple(before), tuple(calls), tuple(after))


def each_call(change: Callable[[StreamedCall], StreamedCall]) -> Rewrite:
    """A rule that changes every call by itself."""

    def rule(frames: list[Frame]) -> list[Frame]:
        stream = read_stream(frames)
        return replace(stream, calls=tuple(map(change, stream.calls))).frames

    return rule


def each_entry(change: Callable[[Entry], Entry]) -> Rewrite:
    """A rule that changes every entry of a tool_calls list by itself."""

    def rule(frames: list[Frame]) -> list[Frame]:
        return [
            with_entries(frame, *map(change, entries)) if (entries := entries_of(frame)) else frame
            for frame in frames
        ]

    return rule


def delta_of(frame: Frame) -> Mapping[str, JSON]:
    return object_or_empty(_choice(frame).get("delta"))


def entries_of(frame: Frame) -> list[Entry]:
    return [object_or_empty(entry) for entry in list_or_empty(delta_of(frame).get("tool_calls"))]


def finish_of(frame: Frame) -> str | None:
    return text_or_none(_choice(frame).get("finish_reason"))


def with_entries(frame: Frame, *entries: Entry) -> Frame:
    return _with_choice(frame, delta={**delta_of(frame), "tool_calls": list(entries)})


def with_finish(frame: Frame, reason: str) -> Frame:
    return _with_choice(frame, finish_reason=reason)


def with_arguments(entry: Entry, arguments: JSON) -> Entry:
    return {**entry, "function": {**object_or_empty(entry.get("function")), "arguments": arguments}}


def name_of(entry: Entry) -> str:
    return text_or_empty(object_or_empty(entry.get("function")).get("name"))


def arguments_of(entry: Entry) -> str:
    return text_or_empty(object_or_empty(entry.get("function")).get("arguments"))


def parse_arguments(text: str) -> Mapping[str, JSON] | None:
    """The arguments as an object, where they are one."""
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


def _choice(frame: Frame) -> Mapping[str, JSON]:
    choices = list_or_empty((frame.body or {}).get("choices"))
    return object_or_empty(choices[0]) if choices else {}


def _with_choice(frame: Frame, **fields: JSON) -> Frame:
    return frame.having(choices=[{**_choice(frame), **fields}])
