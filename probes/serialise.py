"""The values of `probes/messages.py` as JSON for storage, and back without loss.

Every value is an object with its `type`; the outermost also has the `version`. A field that was
added later may be missing and takes its default. An unknown type or field was written by a newer
version and is an error, because dropping it would change a conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from enum import StrEnum
from typing import Any, TypeAlias

from probes.errors import WireError
from probes.messages import (
    JSON,
    Breakage,
    BrokenCall,
    Deviation,
    Location,
    ModelCall,
    Opaque,
    Part,
    Reasoning,
    ReasoningKind,
    Reply,
    Role,
    Stop,
    Text,
    ToolCall,
    ToolChoice,
    ToolResult,
    ToolSpec,
    Turn,
    Usage,
)

VERSION = 1

Value: TypeAlias = Part | ToolSpec | Turn | ToolChoice | ModelCall | Usage | Deviation | Reply
_Reader: TypeAlias = "Callable[[JSON, str], Any]"


def to_json(value: Value) -> dict[str, JSON]:
    """The value as JSON that `from_json` reads back equal."""
    return {"version": VERSION, **_value_json(value)}


def from_json(data: JSON) -> Value:
    """Read a value that `to_json` wrote; raises WireError for any other data."""
    entry = _mapping(data, "$")
    if entry.get("version") != VERSION:
        raise WireError(f"The stored value is not of version {VERSION}.", "$.version")
    return _value_from_json({key: item for key, item in entry.items() if key != "version"}, "$")


def turns_to_json(turns: Sequence[Turn]) -> list[JSON]:
    """Turns without a version each, for a document that has its own."""
    return [_value_json(turn) for turn in turns]


def turns_from_json(data: JSON, at: str = "$") -> tuple[Turn, ...]:
    """Read turns that `turns_to_json` wrote."""
    return tuple(_instances_of(Turn)(data, at))


def _value_json(value: Value) -> dict[str, JSON]:
    shape = _SHAPES[type(value)]
    written: dict[str, JSON] = {"type": shape.tag}
    for name in shape.readers:
        written[name] = _plain_json(getattr(value, name))
    return written


def _plain_json(value: Any) -> JSON:
    if type(value) in _SHAPES:
        return _value_json(value)
    match value:
        case StrEnum():
            return str(value)
        case Mapping():
            return {key: _plain_json(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain_json(item) for item in value]
        case _:
            scalar: JSON = value
            return scalar


def _value_from_json(data: JSON, at: str) -> Value:
    entry = _mapping(data, at)
    tag = entry.get("type")
    shape = _TAGS.get(tag) if isinstance(tag, str) else None
    if shape is None:
        raise WireError(f"There is no value of type {str(tag)[:60]!r}.", f"{at}.type")
    unknown = entry.keys() - shape.readers.keys() - {"type"}
    if unknown:
        raise WireError("The stored value has a field that is not known.", f"{at}.{min(unknown)}")
    missing = shape.required - entry.keys()
    if missing:
        raise WireError("The stored value lacks a field.", f"{at}.{min(missing)}")
    fields = {
        key: shape.readers[key](item, f"{at}.{key}") for key, item in entry.items() if key != "type"
    }
    return shape.make(**fields)


def _mapping(value: JSON, at: str) -> Mapping[str, JSON]:
    if not isinstance(value, Mapping):
        raise WireError("There is no object where one was stored.", at)
    return value


def _json(value: JSON, at: str) -> JSON:
    return value


def _string(value: JSON, at: str) -> str:
    if not isinstance(value, str):
        raise WireError("There is no text where one was stored.", at)
    return value


def _boolean(value: JSON, at: str) -> bool:
    if not isinstance(value, bool):
        raise WireError("There is no true or false where one was stored.", at)
    return value


def _integer(value: JSON, at: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise WireError("There is no whole number where one was stored.", at)
    return value


def _list(value: JSON, at: str) -> list[JSON]:
    if not isinstance(value, list):
        raise WireError("There is no list where one was stored.", at)
    return value


def _optional(read: _Reader) -> _Reader:
    return lambda value, at: None if value is None else read(value, at)


def _tuple_of(read: _Reader) -> _Reader:
    return lambda value, at: tuple(
        read(item, f"{at}[{index}]") for index, item in enumerate(_list(value, at))
    )


def _instance_of(*kinds: type) -> _Reader:
    def read(value: JSON, at: str) -> Any:
        stored = _value_from_json(value, at)
        if not isinstance(stored, kinds):
            raise WireError(f"A {type(stored).__name__} is stored where it cannot stand.", at)
        return stored

    return read


def _instances_of(*kinds: type) -> _Reader:
    return _tuple_of(_instance_of(*kinds))


def _enum_of(kind: type[StrEnum]) -> _Reader:
    def read(value: JSON, at: str) -> StrEnum:
        if not isinstance(value, str) or value not in set(kind):
            raise WireError(f"{str(value)[:60]!r} is not one of the known words.", at)
        return kind(value)

    return read


@dataclass(frozen=True, slots=True)
class _Shape:
    """How one type is stored: its tag, and a reader per field."""

    tag: str
    make: Callable[..., Value]
    readers: Mapping[str, _Reader]
    required: frozenset[str]


def _shape(tag: str, kind: type[Value], /, **readers: _Reader) -> _Shape:
    required = frozenset(item.name for item in fields(kind) if _is_required(item))
    return _Shape(tag, kind, readers, required)


def _is_required(item: Field[Any]) -> bool:
    return item.default is MISSING and item.default_factory is MISSING


_PARTS = (Text, Reasoning, ToolCall, BrokenCall, ToolResult, Opaque)
_SHAPES: Mapping[type, _Shape] = {
    Text: _shape("text", Text, text=_string, extra=_mapping),
    Reasoning: _shape(
        "reasoning", Reasoning, text=_string, kind=_enum_of(ReasoningKind), raw=_json
    ),
    ToolCall: _shape(
        "tool_call",
        ToolCall,
        id=_string,
        name=_string,
        input=_mapping,
        format=_string,
        raw=_string,
        repairs=_tuple_of(_string),
        location=_enum_of(Location),
        extra=_mapping,
    ),
    BrokenCall: _shape(
        "broken_call",
        BrokenCall,
        raw=_string,
        error=_string,
        kind=_enum_of(Breakage),
        name=_string,
        id=_string,
        path=_string,
        format=_string,
        location=_enum_of(Location),
        retryable=_boolean,
    ),
    ToolResult: _shape(
        "tool_result",
        ToolResult,
        call_id=_string,
        content=_string,
        is_error=_boolean,
        name=_string,
        blocks=_tuple_of(_json),
        extra=_mapping,
    ),
    Opaque: _shape("opaque", Opaque, format=_string, raw=_json),
    ToolSpec: _shape(
        "tool_spec",
        ToolSpec,
        name=_string,
        description=_string,
        schema=_optional(_mapping),
        strict=_optional(_boolean),
        extra=_mapping,
    ),
    Turn: _shape(
        "turn",
        Turn,
        role=_enum_of(Role),
        parts=_instances_of(*_PARTS),
        origin=_string,
        extra=_mapping,
    ),
    ToolChoice: _shape("tool_choice", ToolChoice, mode=_string, name=_string),
    ModelCall: _shape(
        "model_call",
        ModelCall,
        model=_string,
        turns=_instances_of(Turn),
        tools=_instances_of(ToolSpec),
        max_tokens=_optional(_integer),
        tool_choice=_optional(_instance_of(ToolChoice)),
        parallel=_optional(_boolean),
        stream=_boolean,
        options=_mapping,
        extra=_mapping,
    ),
    Usage: _shape(
        "usage",
        Usage,
        input_tokens=_optional(_integer),
        output_tokens=_optional(_integer),
        reasoning_tokens=_optional(_integer),
        cached_tokens=_optional(_integer),
    ),
    Deviation: _shape("deviation", Deviation, name=_string, path=_string),
    Reply: _shape(
        "reply",
        Reply,
        parts=_instances_of(*_PARTS),
        stop=_enum_of(Stop),
        usage=_instance_of(Usage),
        id=_string,
        model=_optional(_string),
        fingerprint=_optional(_string),
        stop_raw=_optional(_string),
        deviations=_instances_of(Deviation),
        extra=_mapping,
        raw=_mapping,
    ),
}
_TAGS: Mapping[str, _Shape] = {shape.tag: shape for shape in _SHAPES.values()}
