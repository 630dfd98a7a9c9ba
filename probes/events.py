"""A reply as it arrives: the same events for every wire format, in both directions.

Parts are numbered as in `Reply.parts`. Each part starts once, grows by deltas and ends once, with
the finished value. Parts may overlap (parallel calls), but a part's own events are in order.
Exactly one `ReplyEnded` comes last, whatever happened.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from probes.messages import Part, Reply


class PartKind(StrEnum):
    """The kind of a part that has just started."""

    TEXT = "text"
    REASONING = "reasoning"
    CALL = "call"
    OPAQUE = "opaque"


@dataclass(frozen=True, slots=True)
class PartStarted:
    """A part starts; id and name are set for calls if the format sends them first."""

    index: int
    kind: PartKind
    id: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class PartDelta:
    """More of a part: visible text, reasoning text, or the argument text of a call."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class PartEnded:
    """The part is complete, or will never be: then it is a BrokenCall."""

    index: int
    part: Part


@dataclass(frozen=True, slots=True)
class ReplyEnded:
    """The whole reply, equal to the reply of an unstreamed answer."""

    reply: Reply


Event: TypeAlias = PartStarted | PartDelta | PartEnded | ReplyEnded
