"""The bookkeeping of a reply that arrives in pieces, shared by all wire formats.

A stream reader translates its format into `start`, `extend` and `finish`, each with any key that
identifies the part. `take_events` returns the events in the order in which they happened.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from probes.call_arguments import call_argument_text
from probes.events import (
    Event,
    PartDelta,
    PartEnded,
    PartKind,
    PartStarted,
    ReplyEnded,
    ReplyStarted,
)
from probes.messages import (
    JSON,
    BrokenCall,
    Deviation,
    Part,
    Reasoning,
    ReasoningKind,
    Reply,
    Text,
    ToolCall,
    Usage,
)

MAX_PARTS = 1024
MAX_TEXT = 16 * 1024 * 1024
MAX_DEVIATIONS = 100


@dataclass(slots=True)
class _Slot:
    """One part in progress."""

    kind: PartKind
    pieces: list[str] = field(default_factory=list)
    part: Part | None = None
    cut: bool = False


class Assembler:
    """Keeps the parts of one reply in the order they began, and their events."""

    def __init__(self, max_parts: int = MAX_PARTS, max_text: int = MAX_TEXT) -> None:
        self._max_parts = max_parts
        self._room = max_text
        self._slots: list[_Slot] = []
        self._index: dict[Hashable, int] = {}
        self._events: list[Event] = []
        self._deviations: dict[Deviation, None] = {}
        self.begun = False
        self.ended = False

    def begin(self, id: str = "", model: str = "", usage: Usage | None = None) -> None:
        """Start the reply; only the first call counts."""
        if not self.begun:
            self.begun = True
            self._events.append(ReplyStarted(id, model, usage or Usage()))

    def start(self, key: Hashable, kind: PartKind, *, id: str = "", name: str = "") -> bool:
        """Begin a part; False if it exists already or the reply has too many parts."""
        if key in self._index:
            return False
        if len(self._slots) >= self._max_parts:
            self.note("too_many_parts", "$")
            return False
        self.begin()
        self._index[key] = len(self._slots)
        self._slots.append(_Slot(kind))
        self._events.append(PartStarted(self._index[key], kind, id, name))
        return True

    def extend(self, key: Hashable, text: str) -> None:
        """Add text to an open part; does nothing for other parts."""
        slot = self._open(key)
        if slot is None or not text:
            return
        if len(text) > self._room:
            slot.cut = True
            self.note("too_large", "$")
            return
        self._room -= len(text)
        slot.pieces.append(text)
        self._events.append(PartDelta(self._index[key], text))

    def finish(self, key: Hashable, part: Part) -> None:
        """End a part with its final value; only the first end counts."""
        slot = self._open(key)
        if slot is not None:
            slot.part = part
            self._events.append(PartEnded(self._index[key], part))

    def add(self, key: Hashable, part: Part) -> bool:
        """Begin and end a part that arrives complete."""
        kind, text, id_, name = _outline(part)
        if not self.start(key, kind, id=id_, name=name):
            return False
        self.extend(key, text)
        self.finish(key, part)
        return True

    def has(self, key: Hashable) -> bool:
        """Whether the part was ever begun."""
        return key in self._index

    def is_open(self, key: Hashable) -> bool:
        """Whether the part was begun and not ended."""
        return self._open(key) is not None

    def is_cut(self, key: Hashable) -> bool:
        """Whether text of the part was dropped because the reply is too large."""
        index = self._index.get(key)
        return index is not None and self._slots[index].cut

    def text(self, key: Hashable) -> str:
        """The whole text that the part was extended with."""
        index = self._index.get(key)
        return "" if index is None else "".join(self._slots[index].pieces)

    @property
    def open_keys(self) -> list[Hashable]:
        """The parts that have not ended, in the order they began."""
        return [key for key, index in self._index.items() if self._slots[index].part is None]

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts that have ended, in the order they began; complete once all have."""
        return tuple(slot.part for slot in self._slots if slot.part is not None)

    def note(self, name: str, path: str) -> None:
        """Record a deviation from the format, once."""
        if len(self._deviations) < MAX_DEVIATIONS:
            self._deviations.setdefault(Deviation(name, path))

    @property
    def deviations(self) -> tuple[Deviation, ...]:
        return tuple(self._deviations)

    def end(self, reply: Reply) -> None:
        """End the reply; later calls are ignored."""
        if not self.ended:
            self.begin(reply.id, reply.model or "")
            self.ended = True
            self._events.append(ReplyEnded(reply))

    def take_events(self) -> list[Event]:
        """The events since the last call."""
        events, self._events = self._events, []
        return events

    def _open(self, key: Hashable) -> _Slot | None:
        index = self._index.get(key)
        if index is None or self._slots[index].part is not None:
            return None
        return self._slots[index]


def reply_events(reply: Reply) -> list[Event]:
    """The events of a whole reply, as its stream would have produced them."""
    assembler = Assembler(max_parts=max(MAX_PARTS, len(reply.parts)))
    assembler.begin(reply.id, reply.model or "")
    for index, part in enumerate(reply.parts):
        assembler.add(index, part)
    assembler.end(reply)
    return assembler.take_events()


def _outline(part: Part) -> tuple[PartKind, str, str, str]:
    match part:
        case Text():
            return PartKind.TEXT, part.text, text_item(part), text_label(part)
        case Reasoning():
            return PartKind.REASONING, part.text, _raw_id(part.raw), reasoning_label(part)
        case ToolCall() | BrokenCall():
            return PartKind.CALL, call_argument_text(part), part.id, part.name
        case _:
            return PartKind.OPAQUE, "", "", ""


def text_label(part: Text) -> str:
    """The name of a text's start event: "refusal" for a refusal, else ""."""
    kinds = [fields.get("type") for fields in part.extra.values() if isinstance(fields, Mapping)]
    return "refusal" if "refusal" in kinds else ""


def reasoning_label(part: Reasoning) -> str:
    """The name of a reasoning's start event: its field, if it is one."""
    if part.kind is ReasoningKind.FIELD and isinstance(part.raw, str):
        return part.raw
    if part.kind is ReasoningKind.ITEM and isinstance(part.raw, Mapping):
        return "summary_text" if part.raw.get("summary") else "reasoning_text"
    return "reasoning_details" if part.kind is ReasoningKind.DETAILS else ""


def text_item(part: Text) -> str:
    """The id of the item that contains a text, for the format that has items."""
    for fields in part.extra.values():
        if isinstance(fields, Mapping) and (item_id := _raw_id(fields.get("$item"))):
            return item_id
    return ""


def _raw_id(raw: JSON) -> str:
    id_ = raw.get("id") if isinstance(raw, Mapping) else None
    return id_ if isinstance(id_, str) else ""
