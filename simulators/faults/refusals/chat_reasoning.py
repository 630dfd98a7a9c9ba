"""Reasoning in the messages of a Chat Completions history."""

from __future__ import annotations

from collections.abc import Callable

from simulators.faults.refusals.refusal import Body, list_entries, read_call_ids
from simulators.vendors.error_envelopes import RequestRefused

FIELDS = ("reasoning_content", "reasoning")
MUST_RETURN = "The `reasoning_content` in the thinking mode must be passed back to the API."


def read_reasoning(message: Body) -> str | None:
    """The reasoning of a message, in any vendor's field; None if there is none."""
    for name in FIELDS:
        if isinstance(text := message.get(name), str):
            return text
    if details := list_entries(message, "reasoning_details"):
        return "".join(str(entry.get("text", "")) for entry in details)
    content = message.get("content")
    return content if isinstance(content, str) and "</think>" in content else None


def require_reasoning(body: Body, is_accepted: Callable[[str | None], bool]) -> None:
    """DeepSeek's rule since V4: every message from the first call of a turn on needs reasoning."""
    called = False
    for message in list_entries(body, "messages"):
        if message.get("role") == "user":
            called = False
        if message.get("role") != "assistant":
            continue
        called = called or bool(read_call_ids(message))
        if called and not is_accepted(read_reasoning(message)):
            raise RequestRefused(MUST_RETURN, code="invalid_request_error")
