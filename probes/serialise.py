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
    ClientTool,
    Deviation,
    ErrorKind,
    Generation,
    Image,
    JSONOutput,
    Location,
    ModelCall,
    Opaque,
    Part,
    Reasoning,
    ReasoningKind,
    Reply,
    ReplyError,
    Role,
    Stop,
    Text,
    Thinking,
    ThinkingMode,
    ToolCall,
    ToolChoice,
    ToolResult,
    ToolSpec,
    Turn,
    Usage,
    VendorTool,
)

VERSION = 1

Value: TypeAlias = (
    Part
    | ToolSpec
    | ClientTool
    | VendorTool
    | Turn
    | ToolChoice
    | Thinking
    | JSONOutput
    | Generation
    | ModelCall
    | Usage
    | ReplyError
    | Deviation
    | Reply
)
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


def _number(value: JSON, at: str) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise WireError("There is no number where one was stored.", at)
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


_PARTS = (Text, Image, Reasoning, ToolCall, BrokenCall, ToolResult, Opaque)
_SHAPES: Mapping[type, _Shape] = {
    Text: _shape("text", Text, text=_string, extra=_mapping),
    Image: _shape("image", Image, media_type=_string, data=_string, url=_string, extra=_mapping),
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
        client_tool=_optional(_instance_of(ClientTool)),
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
        parts=_instances_of(Text, Image),
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
        client_tool=_optional(_instance_of(ClientTool)),
    ),
    ClientTool: _shape(
        "client_tool",
        ClientTool,
        format=_string,
        name=_string,
        namespace=_string,
        custom=_boolean,
    ),
    VendorTool: _shape(
        "vendor_tool",
        VendorTool,
        name=_string,
        kind=_string,
        format=_string,
        raw=_mapping,
        position=_integer,
    ),
    Turn: _shape(
        "turn",
        Turn,
        role=_enum_of(Role),
        parts=_instances_of(*_PARTS),
        origin=_string,
        extra=_mapping,
    ),
    Thinking: _shape(
        "thinking",
        Thinking,
        mode=_enum_of(ThinkingMode),
        effort=_string,
        budget=_optional(_integer),
    ),
    JSONOutput: _shape(
        "json_output",
        JSONOutput,
        schema=_optional(_mapping),
        name=_string,
        strict=_optional(_boolean),
        description=_string,
    ),
    Generation: _shape(
        "generation",
        Generation,
        temperature=_optional(_number),
        top_p=_optional(_number),
        top_k=_optional(_number),
        seed=_optional(_number),
        presence_penalty=_optional(_number),
        frequency_penalty=_optional(_number),
        stop=_optional(_tuple_of(_string)),
        thinking=_optional(_instance_of(Thinking)),
        output=_optional(_instance_of(JSONOutput)),
        user=_optional(_string),
        session=_optional(_string),
        include_usage=_optional(_boolean),
    ),
    ToolChoice: _shape(
        "tool_choice", ToolChoice, mode=_string, name=_string, names=_tuple_of(_string)
    ),
    ModelCall: _shape(
        "model_call",
        ModelCall,
        model=_string,
        turns=_instances_of(Turn),
        tools=_instances_of(ToolSpec),
        max_tokens=_optional(_integer),
        tool_choice=_optional(_instance_of(ToolChoice)),
        parallel=_optional(_boolean),
        generation=_instance_of(Generation),
        stream=_boolean,
        options=_mapping,
        extra=_mapping,
        vendor_tools=_instances_of(VendorTool),
    ),
    Usage: _shape(
        "usage",
        Usage,
        input_tokens=_optional(_integer),
        output_tokens=_optional(_integer),
        reasoning_tokens=_optional(_integer),
        cached_tokens=_optional(_integer),
    ),
    ReplyError: _shape(
        "reply_error",
        ReplyError,
        kind=_enum_of(ErrorKind),
        message=_string,
        code=_string,
        retry_after=_optional(_number),
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
        error=_optional(_instance_of(ReplyError)),
    ),
}
_TAGS: Mapping[str, _Shape] = {shape.tag: shape for shape in _SHAPES.values()}
