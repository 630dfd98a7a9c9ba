"""Short builders of the values in the history tests."""

from __future__ import annotations

from probes.messages import (
    JSON,
    Part,
    Reasoning,
    ReasoningKind,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Turn,
)

ASK = Turn(Role.USER, (Text("Do it."),))
NEXT = Turn(Role.USER, (Text("And now?"),))


def call(id_: str = "a", name: str = "f", **extra: JSON) -> ToolCall:
    return ToolCall(id_, name, {}, "openai", "{}", extra=extra)


def answer(*parts: Part, origin: str = "") -> Turn:
    return Turn(Role.ASSISTANT, parts, origin)


def result(id_: str = "a", content: str = "ok") -> ToolResult:
    return ToolResult(id_, content)


def tool(*results: ToolResult) -> Turn:
    return Turn(Role.TOOL, results)


def thought(text: str = "Hm.", name: str = "reasoning_content") -> Reasoning:
    return Reasoning(text, ReasoningKind.FIELD, name)


def block(text: str = "Hm.", **more: JSON) -> Reasoning:
    raw: dict[str, JSON] = {"type": "thinking", "thinking": text, **more}
    return Reasoning(text, ReasoningKind.BLOCK, raw)


def item(id_: str = "rs_1") -> Reasoning:
    return Reasoning("", ReasoningKind.ITEM, {"type": "reasoning", "id": id_, "summary": []})
