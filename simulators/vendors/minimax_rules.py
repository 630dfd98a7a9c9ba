"""MiniMax's request rules: paired calls and results, complete arguments, tool parameters."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from probes.adapters.json_fields import list_or_empty, object_or_empty, text_or_empty
from probes.messages import JSON, BrokenCall, Role, ToolCall
from simulators.vendors.error_envelopes import RequestRefused
from simulators.vendors.spec import VendorRequest


def check_minimax(request: VendorRequest) -> None:
    for tool in list_or_empty(request.body.get("tools")):
        function = object_or_empty(object_or_empty(tool).get("function"))
        if not function.get("parameters"):
            raise _invalid("function parameters is empty")
    for id_, arguments in _history_arguments(request.body):
        if not _is_object(arguments):
            raise _invalid(f"invalid function arguments json string, tool_call_id: {id_}")
    _check_pairs(request)


def check_minimax_anthropic(request: VendorRequest) -> None:
    _check_pairs(request)


def _check_pairs(request: VendorRequest) -> None:
    """Every result follows the message with its call, and every call is followed by its result."""
    seen: set[str] = set()
    waiting: set[str] = set()
    for turn in request.call.turns:
        for result in turn.results:
            if result.call_id not in seen:
                raise _invalid(f"tool result's tool id({result.call_id}) not found")
            if result.call_id not in waiting:
                raise _invalid("tool call result does not follow tool call")
            waiting.remove(result.call_id)
        if turn.role is not Role.TOOL and waiting:
            raise _invalid("tool call result does not follow tool call")
        calls = {part.id for part in turn.parts if isinstance(part, ToolCall | BrokenCall)}
        seen |= calls
        waiting |= calls
    if waiting:
        raise _invalid("tool call result does not follow tool call")


def _history_arguments(body: Mapping[str, JSON]) -> Iterator[tuple[str, str]]:
    for message in list_or_empty(body.get("messages")):
        for item in list_or_empty(object_or_empty(message).get("tool_calls")):
            call = object_or_empty(item)
            arguments = object_or_empty(call.get("function")).get("arguments")
            yield text_or_empty(call.get("id")), text_or_empty(arguments)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _invalid(detail: str) -> RequestRefused:
    return RequestRefused(f"invalid params, {detail} (2013)")
