"""Calls and results, as far as the formats share them: arguments and broken calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from probes.adapters.json_fields import Notes, argument_text
from probes.call_arguments import MAX_BYTES, read_arguments
from probes.messages import (
    JSON,
    Breakage,
    BrokenCall,
    Extra,
    Part,
    Role,
    ToolCall,
    ToolResult,
    Turn,
)

CUT = "The call was cut off by the token limit."
BROKEN_OFF = "The stream broke off inside the call."
LOST = "A piece of the stream that carried the call was lost."
NAMELESS = "The call has no tool name."
ERROR_PREFIX = "Error: "


@dataclass(frozen=True, slots=True)
class CallInput:
    """The input of a call in a format that sends an object; `value` None: it is broken."""

    raw: str
    value: Mapping[str, JSON] | None
    error: str = ""


def read_call(call: ToolCall, path: str) -> tuple[ToolCall | BrokenCall, tuple[str, ...]]:
    """The call with the input parsed from its raw text, or broken; and its duplicate keys."""
    arguments = read_arguments(call.raw)
    if arguments.value is None:
        too_large = len(call.raw) > MAX_BYTES
        kind = Breakage.TOO_LARGE if too_large else breakage_of(arguments.error)
        return as_broken(call, arguments.error, kind, path), ()
    read = ToolCall(call.id, call.name, arguments.value, call.format, call.raw, extra=call.extra)
    return read, arguments.duplicate_keys


def read_input(value: JSON, path: str, notes: Notes, *, error: str) -> CallInput:
    """The input of a call, an object or what some vendors send instead; else `error` applies."""
    match value:
        case Mapping():
            return CallInput(argument_text(value), value)
        case None:
            notes.note("arguments_null", path)
            return CallInput("{}", {})
        case str():
            notes.note("arguments_string", path)
            arguments = read_arguments(value)
            return CallInput(value, arguments.value, arguments.error)
        case _:
            return CallInput(argument_text(value), None, error)


def breakage_of(error: str) -> Breakage:
    """The kind of an argument error: JSON of another type, or no JSON."""
    return Breakage.NOT_AN_OBJECT if "not an object" in error else Breakage.INVALID_JSON


def as_broken(call: ToolCall | BrokenCall, error: str, kind: Breakage, path: str) -> BrokenCall:
    """The same call, not to be executed."""
    return BrokenCall(call.raw, error, kind, call.name, call.id, path, call.format)


def as_cut_off(call: ToolCall | BrokenCall, path: str, error: str = CUT) -> BrokenCall:
    """The same call, marked as cut off."""
    return as_broken(call, error, Breakage.TRUNCATED_CALL, path)


def has_calls(parts: Iterable[Part]) -> bool:
    """Whether there are any calls, valid or broken."""
    return any(isinstance(part, ToolCall | BrokenCall) for part in parts)


def repeats_id(parts: Iterable[Part]) -> bool:
    """Whether two calls have the same id."""
    ids = [part.id for part in parts if isinstance(part, ToolCall | BrokenCall)]
    return len(set(ids)) < len(ids)


def flagged_text(result: ToolResult) -> str:
    """A result's text for a format without an error flag."""
    if result.is_error and not result.content.startswith(ERROR_PREFIX):
        return ERROR_PREFIX + result.content
    return result.content


def user_turns(parts: Sequence[Part], extra: Extra) -> list[Turn]:
    """A user message as turns: results become separate tool turns."""
    if not parts:
        return [Turn(Role.USER, (), extra=extra)]
    turns: list[Turn] = []
    for is_result, run in groupby(parts, lambda part: isinstance(part, ToolResult)):
        role = Role.TOOL if is_result else Role.USER
        turns.append(Turn(role, tuple(run), extra=extra if not turns else {}))
    return turns


def unwritten_calls(turns: Sequence[Turn]) -> set[str]:
    """The ids of broken calls, whose results would be orphans."""
    broken = {part.id for turn in turns for part in turn.parts if isinstance(part, BrokenCall)}
    return broken - {call.id for turn in turns for call in turn.calls}
