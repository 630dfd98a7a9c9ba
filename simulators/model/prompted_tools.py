"""Tools that are described in the system prompt, and calls and results that are text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from probes.messages import (
    JSON,
    ModelCall,
    Part,
    Role,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    Turn,
)
from simulators.model.schema_values import DECODER
from simulators.model.tool_requests import ToolRequest

TAG, END_TAG = "<tool_call>", "</tool_call>"
_PROMPTS_CALLS = re.compile(r"\bto call a (?:tool|function)\b", re.I)
_RESULT = re.compile(
    r"<tool_response>\s*(.*?)\s*</tool_response>|\Atool result:\s*(.*)", re.I | re.S
)


@dataclass(frozen=True, slots=True)
class PromptedCall:
    """A request with its described tools, calls and results in their places, and the format."""

    call: ModelCall
    has_tags: bool


def read_prompted_call(call: ModelCall) -> PromptedCall | None:
    """The request as if its tools were declared; None if its system prompt describes none."""
    prompt = "\n".join(_text(turn) for turn in call.turns if turn.role is Role.SYSTEM)
    tools = _read_tools(prompt) if _PROMPTS_CALLS.search(prompt) else ()
    if call.tools or not tools:
        return None
    return PromptedCall(replace(call, turns=_read_turns(call.turns), tools=tools), TAG in prompt)


def read_text_results(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """The turns with calls and results in their places, where a user message says a result."""
    is_text = any(turn.role is Role.USER and _RESULT.search(_text(turn)) for turn in turns)
    return _read_turns(turns) if is_text else tuple(turns)


def write_prompted_calls(tool_requests: Iterable[ToolRequest], *, has_tags: bool) -> str:
    """The calls in the format that the prompt describes."""
    calls = [
        json.dumps({"name": request.tool.name, "arguments": request.arguments}, ensure_ascii=False)
        for request in tool_requests
    ]
    return "\n".join(f"{TAG}\n{call}\n{END_TAG}" if has_tags else call for call in calls)


def _read_tools(prompt: str) -> tuple[ToolSpec, ...]:
    return tuple(
        ToolSpec(name, str(body.get("description", "")), schema)
        for body in _read_objects(prompt)
        if isinstance(name := body.get("name"), str)
        and isinstance(schema := body.get("parameters"), Mapping)
    )


def _read_turns(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """The turns with calls and results in place of the texts that say them."""
    read: list[Turn] = []
    waiting: list[ToolCall] = []
    for turn in turns:
        text = _text(turn)
        if turn.role is Role.ASSISTANT and (calls := _read_calls(text, len(read))):
            waiting = calls
            parts: tuple[Part, ...] = (*(p for p in turn.parts if not isinstance(p, Text)), *calls)
            read.append(replace(turn, parts=parts))
        elif turn.role is Role.USER and waiting and (results := _RESULT.findall(text)):
            bodies = [tagged or plain for tagged, plain in results]
            pairs = zip(waiting, bodies, strict=False)
            read.append(Turn(Role.TOOL, tuple(ToolResult(c.id, b, name=c.name) for c, b in pairs)))
            waiting = []
        else:
            read.append(turn)
    return tuple(read)


def _read_calls(text: str, position: int) -> list[ToolCall]:
    return [
        ToolCall(f"text_{position}_{index}", str(body["name"]), arguments, "text", "")
        for index, body in enumerate(_read_objects(text))
        if "name" in body and isinstance(arguments := body.get("arguments"), Mapping)
    ]


def _read_objects(text: str) -> list[Mapping[str, JSON]]:
    """The JSON objects in a text, outermost only."""
    found: list[Mapping[str, JSON]] = []
    position = 0
    while (begin := text.find("{", position)) >= 0:
        try:
            value, position = DECODER.raw_decode(text, begin)
        except (ValueError, RecursionError):
            position = begin + 1
            continue
        found.append(value)
    return found


def _text(turn: Turn) -> str:
    return "\n".join(part.text for part in turn.parts if isinstance(part, Text))
