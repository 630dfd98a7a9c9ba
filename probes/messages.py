from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

JSON: TypeAlias = "Mapping[str, JSON] | Sequence[JSON] | str | int | float | bool | None"


class Role(StrEnum):
    """Who speaks in a turn."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class Stop(StrEnum):
    """Why the model stopped, in our words; the vendor's word stays in `Reply.raw`."""

    END = "end"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    REFUSAL = "refusal"
    OTHER = "other"


class Breakage(StrEnum):
    """Why a call could not be read; every value is also a `FindingKind`."""

    INVALID_JSON = "invalid_json"
    TRUNCATED_CALL = "truncated_call"


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as it is offered to the model."""

    name: str
    description: str
    schema: Mapping[str, JSON]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that was read whole; `raw` is its argument text as received."""

    id: str
    name: str
    input: Mapping[str, JSON]
    format: str
    raw: str
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BrokenCall:
    """A call that was begun but could not be read; it is never executable."""

    raw: str
    error: str
    kind: Breakage = Breakage.INVALID_JSON
    name: str = ""
    id: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What running a call gave."""

    call_id: str
    content: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Text:
    """Visible text, verbatim."""

    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """Reasoning as received; `field` names where the vendor put it."""

    text: str
    field: str


Part: TypeAlias = Text | Reasoning | ToolCall | BrokenCall | ToolResult


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation, its parts in order."""

    role: Role
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One question to a model, in no vendor's format."""

    model: str
    turns: tuple[Turn, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int = 1024
    tool_choice: str | None = None
    options: Mapping[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the endpoint counted them; None where it did not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None

    def as_json(self) -> dict[str, JSON]:
        return {"input_tokens": self.input_tokens, "output_tokens": self.output_tokens}


@dataclass(frozen=True, slots=True)
class Deviation:
    """A place where the answer bends its own format but could still be read."""

    name: str
    path: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model answered: parts in the order received, and the answer's own facts."""

    parts: tuple[Part, ...]
    stop: Stop
    usage: Usage = field(default_factory=Usage)
    model: str | None = None
    fingerprint: str | None = None
    deviations: tuple[Deviation, ...] = ()
    raw: Mapping[str, JSON] = field(default_factory=dict)

    @property
    def text(self) -> str | None:
        """The visible text, or None where there is none. "" and None differ."""
        texts = [part.text for part in self.parts if isinstance(part, Text)]
        return "".join(texts) if texts else None

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls that were read whole."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def broken(self) -> tuple[BrokenCall, ...]:
        """The calls that could not be read."""
        return tuple(part for part in self.parts if isinstance(part, BrokenCall))

    @property
    def reasoning(self) -> str | None:
        """The reasoning text, or None where there is none."""
        texts = [part.text for part in self.parts if isinstance(part, Reasoning)]
        return "".join(texts) if texts else None
