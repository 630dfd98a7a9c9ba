"""Mistral's request rules: an order of roles, as many results as calls, nine-character ids."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from probes.adapters.json_fields import list_or_empty, object_or_empty, text_or_empty
from probes.messages import JSON
from simulators.vendors.error_envelopes import RequestRefused
from simulators.vendors.spec import VendorRequest

Message = Mapping[str, JSON]
ORDER_CODE, ID_CODE = "3230", "3280"
_ID = re.compile(r"[a-zA-Z0-9]{9}")


def check_mistral(request: VendorRequest) -> None:
    messages = [object_or_empty(item) for item in list_or_empty(request.body.get("messages"))]
    _check_order(messages)
    _check_counts(messages)
    last = messages[-1] if messages else {}
    if last.get("role") == "assistant" and last.get("prefix") is not True:
        raise RequestRefused(
            "Expected last role User or Tool (or Assistant with prefix True) for serving but got "
            "assistant",
            code=ORDER_CODE,
        )
    for id_ in _iter_call_ids(messages):
        if not _ID.fullmatch(id_):
            raise RequestRefused(
                f"Tool call id was {id_} but must be a-z, A-Z, 0-9, with a length of 9.",
                code=ID_CODE,
            )


def _check_order(messages: Sequence[Message]) -> None:
    """Only the assistant follows a result, a result only a call, a system message no answer."""
    previous = ""
    for message in messages:
        role = text_or_empty(message.get("role"))
        after_result = previous == "tool" and role not in ("assistant", "tool")
        after_answer = previous == "assistant" and role == "system"
        before_call = role == "tool" and previous in ("", "user", "system")
        if after_result or after_answer or before_call:
            raise RequestRefused(
                f"Unexpected role '{role}' after role '{previous}'", code=ORDER_CODE
            )
        previous = role


def _check_counts(messages: Sequence[Message]) -> None:
    waiting = 0
    mismatch = RequestRefused(
        "Not the same number of function calls and responses", code=ORDER_CODE
    )
    for message in messages:
        if message.get("role") == "tool":
            waiting -= 1
            continue
        if waiting:
            raise mismatch
        waiting = len(list_or_empty(message.get("tool_calls")))
    if waiting and messages[-1].get("role") == "tool":
        raise mismatch


def _iter_call_ids(messages: Sequence[Message]) -> Iterator[str]:
    for message in messages:
        for call in list_or_empty(message.get("tool_calls")):
            yield text_or_empty(object_or_empty(call).get("id"))
        if message.get("role") == "tool":
            yield text_or_empty(message.get("tool_call_id"))
