"""A reply as it arrives: the same events for every wire format, in both directions.

`ReplyStarted` comes first. Parts are numbered as in `Reply.parts`. Each part starts once, grows by
deltas and ends once, with the finished value. Parts may overlap (parallel calls), but a part's own
events are in order. Exactly one `ReplyEnded` comes last, whatever happened.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeAlias

from probes.messages import Part, Reply, Usage


class PartKind(StrEnum):
    """The kind of a part that has just started."""

    TEXT = "text"
    REASONING = "reasoning"
    CALL = "call"
    OPAQUE = "opaque"


@dataclass(frozen=True, slots=True)
class ReplyStarted:
    """The reply starts: what the endpoint says about it before its first part."""

    id: str = ""
    model: str = ""
    usage: Usage = field(default_factory=Usage)


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


@dataclass(frozen=True, slots=True)
class ReplyHead:
    """What a client is told about its reply; an empty field leaves it to the endpoint.

    `input_tokens` is an estimate for the start of a stream. `include_usage` is for clients of Chat
    Completions, who ask for the usage of a stream.
    """

    id: str = ""
    model: str = ""
    created: int = 0
    input_tokens: int | None = None
    include_usage: bool = True

    def apply(self, reply: Reply) -> Reply:
        """The reply under the client's id and model."""
        return replace(reply, id=self.id or reply.id, model=self.model or reply.model)


NO_HEAD = ReplyHead()
Event: TypeAlias = ReplyStarted | PartStarted | PartDelta | PartEnded | ReplyEnded
