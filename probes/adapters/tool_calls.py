"""Calls and results, as far as the formats share them: arguments and broken calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from probes.adapters.json_fields import Notes, argument_text
from probes.call_arguments import MAX_BYTES, read_arguments
from probes.messages import (
    JSON,
    Breakage,
    BrokenCall,
    ClientTool,
    Extra,
    ModelCall,
    Part,
    Role,
    ToolCall,
    ToolChoice,
    ToolResult,
    ToolSpec,
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
    read = ToolCall(
        call.id,
        call.name,
        arguments.value,
        call.format,
        call.raw,
        extra=call.extra,
        client_tool=call.client_tool,
    )
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


CUSTOM_INPUT = "input"


def custom_call(
    text: str, *, id: str, name: str, client_tool: ClientTool, extra: Extra
) -> ToolCall:
    """The call of a tool that takes free text."""
    call_input: dict[str, JSON] = {CUSTOM_INPUT: text}
    raw = argument_text(call_input)
    return ToolCall(
        id, name, call_input, client_tool.format, raw, extra=extra, client_tool=client_tool
    )


def custom_text(call: ToolCall) -> str:
    """The free text of a call."""
    value = call.input.get(CUSTOM_INPUT)
    return value if isinstance(value, str) else call.raw


def custom_schema(text_format: JSON) -> dict[str, JSON]:
    """The schema of a tool that takes free text; its grammar, if any, becomes a description."""
    text: dict[str, JSON] = {"type": "string"}
    match text_format:
        # Chat Completions has one level more than Responses.
        case {"syntax": syntax, "definition": str(grammar)} | {
            "grammar": {"syntax": syntax, "definition": str(grammar)}
        }:
            text["description"] = f"Text in this {syntax} grammar:\n{grammar}"
        case _:
            pass
    properties: dict[str, JSON] = {CUSTOM_INPUT: text}
    return {"type": "object", "properties": properties, "required": [CUSTOM_INPUT]}


def is_native(tool: ToolSpec | ToolCall, format: str) -> bool:
    """Whether a tool or call is written as its client declared it."""
    return tool.client_tool is not None and tool.client_tool.format == format


def insert_vendor_tools(tools: list[JSON], call: ModelCall, format: str) -> list[JSON]:
    """All tools, those that the format defines at their positions."""
    for tool in call.vendor_tools:
        if tool.format == format:
            tools.insert(tool.position, tool.raw)
    return tools


def sent_choice(call: ModelCall, format: str) -> ToolChoice | None:
    """The tool choice without tools that are not sent in this format."""
    choice = call.tool_choice
    if choice is None or not (choice.name or choice.names):
        return choice
    missing = {tool.name for tool in call.vendor_tools if tool.format != format}
    missing -= {spec.name for spec in call.tools}
    if choice.name in missing:
        return None
    names = tuple(name for name in choice.names if name not in missing)
    return choice if names == choice.names else replace(choice, names=names)


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
    if not broken:
        return broken
    return broken - {call.id for turn in turns for call in turn.calls}
