"""A stand-in for a model: it knows nothing but the text of the request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Wire = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Wish:
    """The call that a request asks for, as far as its text says."""

    tool: str
    arguments: dict[str, Any]
    schema: Wire

    @property
    def as_text(self) -> str:
        """The call the way many models write it into their text."""
        body = json.dumps({"name": self.tool, "arguments": self.arguments}, ensure_ascii=False)
        return f"<tool_call>\n{body}\n</tool_call>"


def understand(request: Wire) -> Wish | None:
    """The call that the last user message asks for, or None where it names no declared tool."""
    text = _last_user_text(request)
    tools = [tool["function"] for tool in request.get("tools") or []]
    named = [tool for tool in tools if tool["name"] in text]
    if not named:
        return None
    tool = min(named, key=lambda candidate: text.index(candidate["name"]))
    schema: Wire = tool.get("parameters") or {}
    properties: Wire = schema.get("properties") or {}
    found = {name: _value(text, name, rules) for name, rules in properties.items()}
    arguments = {name: value for name, value in found.items() if value is not None}
    return Wish(tool["name"], arguments, schema)


def _last_user_text(request: Wire) -> str:
    contents = [m.get("content") for m in request["messages"] if m["role"] == "user"]
    last = contents[-1] if contents else ""
    if isinstance(last, list):
        return "\n".join(str(part.get("text", "")) for part in last)
    return last or ""


def _value(text: str, name: str, rules: Wire) -> Any:
    said = _after_name(text, name)
    if said is None:
        return next((item for item in rules.get("enum", ()) if str(item) in text), None)
    match rules.get("type"):
        case "integer":
            return int(said) if said.lstrip("-").isdigit() else said
        case "boolean":
            return said.lower() == "true"
        case _:
            return said


def _after_name(text: str, name: str) -> str | None:
    """What stands after `name:` on a line of its own."""
    for line in text.splitlines():
        key, colon, value = line.strip().lstrip("-* ").partition(":")
        if colon and key.strip("`\"' ") == name:
            return value.strip()
    return None
