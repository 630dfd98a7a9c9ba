"""A policy in words: what a caller gets, line by line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Body = Mapping[str, Any]


def lines(body: Body) -> list[tuple[str, str]]:
    """Names with what holds; a part that a policy does not have is left out."""
    tools = _tools(body)
    if tools == "none":
        return [("Tools", "none"), ("Reasoning", _replay(body.get("replay", {})))]
    said = [
        ("Tools", tools),
        ("Calls arrive as", _format(body.get("tool_call", {}))),
        ("Calls a turn", _calls(body.get("parallel", {}))),
        ("Streams", _streams(body.get("streaming", {}))),
        ("Schemas", _schemas(body.get("schema", {}))),
        ("Calls that do not fit", _misfits(body.get("validation", {}))),
        ("Reasoning", _replay(body.get("replay", {}))),
    ]
    return [(name, words) for name, words in said if words]


def _tools(body: Body) -> str:
    allowed = body.get("risk", {}).get("allowed")
    if allowed is None:
        return ""
    return f"only those of risk {', '.join(allowed)}" if allowed else "none"


def _format(part: Body) -> str:
    name, parser = part.get("format"), part.get("parser")
    if not name or name == "none":
        return ""
    return f"{name}, read by {parser}" if parser else str(name)


def _calls(part: Body) -> str:
    most = part.get("max_calls_per_turn")
    if not most:
        return ""
    return f"up to {most}" if part.get("allowed") else "one"


def _streams(part: Body) -> str:
    if "tools" not in part:
        return ""
    return "text and tool turns" if part["tools"] else "text only; tool turns are fetched whole"


def _schemas(part: Body) -> str:
    level = str(part.get("level", "")).replace("_", " ")
    return f"{level}, simplified" if level and part.get("simplify") else level


def _misfits(part: Body) -> str:
    if "repairs_allowed" not in part:
        return ""
    repaired = "repaired" if part["repairs_allowed"] else "not repaired"
    asked = part.get("max_reasks", 0)
    return f"{repaired}, asked for again {f'at most {asked} ×' if asked else 'never'}"


def _replay(part: Body) -> str:
    rule = str(part.get("rule", "")).replace("_", " ")
    words = [rule and f"sent back: {rule}", "verbatim" if part.get("verbatim") else ""]
    return ", ".join(word for word in words if word)
