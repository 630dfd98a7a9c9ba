"""What a text parser hands to the ladder: a call as it was written, not yet believed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from probes.messages import Location


@dataclass(frozen=True, slots=True)
class JsonText:
    """Arguments written as JSON, or what the model took for it."""

    text: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument written between tags.

    `is_string` is what the markup itself says (DSML's string="true", K3's type="string"); None
    where it says nothing and the schema decides.
    """

    key: str
    value: str
    is_string: bool | None = None


@dataclass(frozen=True, slots=True)
class Parameters:
    """Arguments written one by one between tags."""

    items: tuple[Parameter, ...]


Arguments: TypeAlias = JsonText | Parameters


@dataclass(frozen=True, slots=True)
class RawCall:
    """A call found in text.

    `closed` False: the text ended inside it. `open_value` True: it ended inside a value, so the
    call can never be trusted. `notes` are leniencies the parser needed ("unterminated", ...).
    `fault` says what is wrong around the arguments, so that the call cannot be read whole. `span`
    is the call's place in the text, in characters.
    """

    name: str
    arguments: Arguments
    format: str
    raw: str
    id: str = ""
    closed: bool = True
    open_value: bool = False
    location: Location = Location.CONTENT
    notes: tuple[str, ...] = field(default=())
    fault: str = ""
    span: tuple[int, int] = field(default=(0, 0), compare=False)
