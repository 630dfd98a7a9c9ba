"""Tool calls as cards: name, arguments, status, and the result that was sent back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from dashboard.core.safe_text import clip, visible
from dashboard.runs.exchange import bounded_json
from dashboard.runs.exchange.conversation_view import ParsedExchange
from probes.call_arguments import SchemaChecker, json_path
from probes.messages import BrokenCall, ModelCall, ToolCall, ToolResult

EXECUTABLE, BLOCKED, BROKEN = "executable", "blocked", "broken"
# The call was parsed but may not run; with any other breakage it could not be parsed.
_BLOCKING = {"unknown_tool", "schema_mismatch", "too_large"}
_MAX_TEXT = 2000
_MAX_CARDS = 50
_MAX_ARGUMENTS = 60


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument; name and value are safe to show."""

    name: str
    type: str
    value: str


@dataclass(frozen=True, slots=True)
class CallCard:
    """One call; every text is safe to show."""

    id: str
    name: str
    status: str
    reason: str
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


def build_cards(parsed: ParsedExchange, results: Mapping[str, ToolResult]) -> list[CallCard]:
    """The stored calls of an exchange, or else those that leaked into its text."""
    if parsed.exchange.calls:
        stored = parsed.exchange.calls[:_MAX_CARDS]
        return [_build_card(call, parsed.call, results, is_leaked=False) for call in stored]
    leaked = parsed.leaked[:_MAX_CARDS]
    return [
        _build_card(_to_stored_call(call), parsed.call, results, is_leaked=True) for call in leaked
    ]


def _build_card(
    call: Mapping[str, Any],
    request: ModelCall | None,
    results: Mapping[str, ToolResult],
    *,
    is_leaked: bool,
) -> CallCard:
    status, reason, path = _call_status(call, request)
    result = results.get(str(call.get("id", "")))
    return CallCard(
        id=_safe_text(call.get("id", "")),
        name=_safe_text(call.get("name", "")),
        status=status,
        reason=_safe_text(reason),
        path=_safe_text(path),
        format=_safe_text(call.get("format", "")),
        repairs=tuple(_safe_text(repair) for repair in call.get("repairs") or ()),
        arguments=_build_arguments(call.get("input")),
        raw=_safe_text(call.get("raw", "")),
        result=_safe_text(bounded_json.reformat(result.content)) if result else None,
        result_is_error=bool(result and result.is_error),
        is_leaked=is_leaked,
    )


def _call_status(call: Mapping[str, Any], request: ModelCall | None) -> tuple[str, str, str]:
    """The status, why the call may not run, and the path of the fault."""
    if "kind" in call or "input" not in call:
        status = BLOCKED if call.get("kind") in _BLOCKING else BROKEN
        return status, str(call.get("error", "")), str(call.get("path", ""))
    tools = {tool.name: tool for tool in request.tools} if request else {}
    if not tools:
        return EXECUTABLE, "", ""
    tool = tools.get(str(call.get("name")))
    if tool is None:
        return BLOCKED, _("This tool was not offered."), "$.name"
    misfit = SchemaChecker(tool.schema).misfit(call["input"])
    if misfit is None:
        return EXECUTABLE, "", ""
    return BLOCKED, f"{misfit.message}.", "$" + json_path(misfit.steps)


def _build_arguments(arguments: object) -> tuple[Argument, ...]:
    if not isinstance(arguments, Mapping):
        return ()
    return tuple(
        Argument(
            _safe_text(name), bounded_json.type_name(value), _safe_text(bounded_json.dumps(value))
        )
        for name, value in list(arguments.items())[:_MAX_ARGUMENTS]
    )


def _to_stored_call(call: ToolCall | BrokenCall) -> dict[str, Any]:
    """A leaked call in the format of stored evidence."""
    facts: dict[str, Any] = {"id": call.id, "name": call.name, "raw": call.raw}
    if isinstance(call, BrokenCall):
        breakage = {"kind": str(call.kind), "error": call.error, "path": call.path}
        return {**facts, **breakage, "format": call.format}
    return {**facts, "input": call.input, "format": call.format, "repairs": call.repairs}


def _safe_text(text: object) -> str:
    return visible(clip(str(text), _MAX_TEXT))
