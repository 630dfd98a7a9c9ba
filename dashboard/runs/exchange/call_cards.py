"""Every tool call as a card: name, arguments, what became of it, and the result it was given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from dashboard.core.safe_text import clip, visible
from dashboard.runs.exchange import bounded_json
from dashboard.runs.exchange.conversation_view import Read
from probes.call_arguments import SchemaChecker, json_path
from probes.messages import BrokenCall, ModelCall, ToolCall, ToolResult

EXECUTABLE, BLOCKED, BROKEN = "executable", "blocked", "broken"
# Read well enough to see that it may not run; every other breakage could not be read at all.
_BLOCKING = {"unknown_tool", "schema_mismatch", "too_large"}
_SHOWN = 2000
_MOST_CARDS = 50
_MOST_ARGUMENTS = 60


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument; name and value are already inert."""

    name: str
    type: str
    value: str


@dataclass(frozen=True, slots=True)
class Card:
    """One call; every text is already inert."""

    id: str
    name: str
    status: str
    why: str
    path: str
    format: str
    repairs: tuple[str, ...]
    arguments: tuple[Argument, ...]
    raw: str
    result: str | None
    result_is_error: bool
    is_leaked: bool

    @property
    def is_executable(self) -> bool:
        return self.status == EXECUTABLE


def cards(told: Read, results: Mapping[str, ToolResult]) -> list[Card]:
    """The calls of one exchange, as they were read when it happened, or found in its text."""
    if told.exchange.calls:
        stored = told.exchange.calls[:_MOST_CARDS]
        return [_card(call, told.call, results, is_leaked=False) for call in stored]
    found = told.leaked[:_MOST_CARDS]
    return [_card(_as_stored(call), told.call, results, is_leaked=True) for call in found]


def _card(
    call: Mapping[str, Any],
    asked: ModelCall | None,
    results: Mapping[str, ToolResult],
    *,
    is_leaked: bool,
) -> Card:
    status, why, path = _status(call, asked)
    result = results.get(str(call.get("id", "")))
    return Card(
        id=_inert(call.get("id", "")),
        name=_inert(call.get("name", "")),
        status=status,
        why=_inert(why),
        path=_inert(path),
        format=_inert(call.get("format", "")),
        repairs=tuple(_inert(repair) for repair in call.get("repairs") or ()),
        arguments=_arguments(call.get("input")),
        raw=_inert(call.get("raw", "")),
        result=_inert(bounded_json.pretty(result.content)) if result else None,
        result_is_error=bool(result and result.is_error),
        is_leaked=is_leaked,
    )


def _status(call: Mapping[str, Any], asked: ModelCall | None) -> tuple[str, str, str]:
    """Whether the call may run, why not, and where."""
    if "kind" in call or "input" not in call:
        status = BLOCKED if call.get("kind") in _BLOCKING else BROKEN
        return status, str(call.get("error", "")), str(call.get("path", ""))
    tools = {tool.name: tool for tool in asked.tools} if asked else {}
    if not tools:
        return EXECUTABLE, "", ""
    tool = tools.get(str(call.get("name")))
    if tool is None:
        return BLOCKED, _("This tool was not offered."), "$.name"
    misfit = SchemaChecker(tool.schema).misfit(call["input"])
    if misfit is None:
        return EXECUTABLE, "", ""
    return BLOCKED, f"{misfit.message}.", "$" + json_path(misfit.steps)


def _arguments(given: object) -> tuple[Argument, ...]:
    if not isinstance(given, Mapping):
        return ()
    return tuple(
        Argument(_inert(name), bounded_json.type_of(value), _inert(bounded_json.dump(value)))
        for name, value in list(given.items())[:_MOST_ARGUMENTS]
    )


def _as_stored(call: ToolCall | BrokenCall) -> dict[str, Any]:
    """A call that was found just now, in the shape in which evidence keeps calls."""
    facts: dict[str, Any] = {"id": call.id, "name": call.name, "raw": call.raw}
    if isinstance(call, BrokenCall):
        told = {"kind": str(call.kind), "error": call.error, "path": call.path}
        return {**facts, **told, "format": call.format}
    return {**facts, "input": call.input, "format": call.format, "repairs": call.repairs}


def _inert(text: object) -> str:
    return visible(clip(str(text), _SHOWN))
