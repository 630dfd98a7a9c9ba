"""Histories that are refused for the order or number of their calls and results."""

from __future__ import annotations

import json
from itertools import pairwise

from probes.adapters.json_fields import object_or_empty, text_or_empty
from probes.outcomes import Metric
from simulators.faults.fault import Effect
from simulators.faults.refusals.refusal import (
    Body,
    RefusalCheck,
    assistant_messages,
    check_body,
    find_blocks,
    list_entries,
    read_call_ids,
    refusal_fault,
)
from simulators.vendors import closure_rules
from simulators.vendors.error_envelopes import RequestRefused

EQUAL_PARTS = (
    "Please ensure that the number of function response parts is equal to the number of function "
    "call parts of the function call turn."
)
CALL_ORDER = (
    "Please ensure that function call turn comes immediately after a user turn or after a function "
    "response turn."
)
WITHOUT_RESULT = (
    "messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: "
    "{ids}. Each `tool_use` block must have a corresponding `tool_result` block in the next "
    "message."
)


def _refuse_chat(body: Body) -> None:
    for index, message in assistant_messages(body):
        if ids := read_call_ids(message):
            text = closure_rules.OPENAI_CLOSURE.missing.replace("{ids}", ", ".join(ids))
            raise RequestRefused(text, param=f"messages.[{index + 1}].role")


def _refuse_blocks(body: Body) -> None:
    for index, message in assistant_messages(body):
        if uses := find_blocks(message, "tool_use"):
            raise _without_result(index, [text_or_empty(block.get("id")) for _, block in uses])


def _refuse_items(body: Body) -> None:
    for item in list_entries(body, "input"):
        if item.get("type") == "function_call":
            id_ = text_or_empty(item.get("call_id"))
            raise RequestRefused(f"No tool output found for function call {id_}.", param="input")


def _refuse_parts(body: Body) -> None:
    for content in closure_rules.read_contents(body):
        if any("functionCall" in part for part in closure_rules.read_parts(content)):
            raise RequestRefused(EQUAL_PARTS)


def _without_result(index: int, ids: list[str]) -> RequestRefused:
    text = WITHOUT_RESULT.replace("{index}", str(index))
    return RequestRefused(text.replace("{ids}", ", ".join(ids)))


def _check_bridge(body: Body) -> None:
    roles = [text_or_empty(item.get("role")) for item in list_entries(body, "messages")]
    for previous, role in pairwise(roles):
        if (previous, role) in (("tool", "user"), ("user", "tool")):
            text = f"Unexpected role '{role}' after role '{previous}'"
            raise RequestRefused(text, code="3230")


def _check_call_order(body: Body) -> None:
    """A call follows a question or a result; checked also on a Chat route to Gemini."""
    previous = ""
    for message in list_entries(body, "messages"):
        role = text_or_empty(message.get("role"))
        if role in ("system", "developer"):
            continue
        if read_call_ids(message) and previous not in ("user", "tool"):
            raise RequestRefused(CALL_ORDER)
        previous = role


def _check_part_order(body: Body) -> None:
    role = ""
    for content in closure_rules.read_contents(body):
        calls = any("functionCall" in part for part in closure_rules.read_parts(content))
        if calls and role in ("", "model"):
            raise RequestRefused(CALL_ORDER)
        role = text_or_empty(content.get("role")) or "user"


def _check_call_count(body: Body) -> None:
    pending = 0
    for message in list_entries(body, "messages"):
        if message.get("role") == "tool":
            pending -= 1
            continue
        if pending:
            raise RequestRefused(EQUAL_PARTS)
        pending = len(read_call_ids(message))
    if pending:
        raise RequestRefused(EQUAL_PARTS)


def _check_part_count(body: Body) -> None:
    pending = 0
    for content in closure_rules.read_contents(body):
        parts = closure_rules.read_parts(content)
        if sum("functionResponse" in part for part in parts) != pending:
            raise RequestRefused(EQUAL_PARTS)
        pending = sum("functionCall" in part for part in parts)
    if pending:
        raise RequestRefused(EQUAL_PARTS)


def _check_single_message(body: Body) -> None:
    messages = list_entries(body, "messages")
    for index, message in assistant_messages(body):
        next_message = messages[index + 1] if index + 1 < len(messages) else {}
        answered = {
            block.get("tool_use_id") for _, block in find_blocks(next_message, "tool_result")
        }
        uses = [text_or_empty(block.get("id")) for _, block in find_blocks(message, "tool_use")]
        if missing := [id_ for id_ in uses if id_ not in answered]:
            raise _without_result(index, missing)


def _check_json_arguments(body: Body) -> None:
    for _, message in assistant_messages(body):
        for call in list_entries(message, "tool_calls"):
            arguments = object_or_empty(call.get("function")).get("arguments")
            if not _is_json(arguments if isinstance(arguments, str) else ""):
                raise RequestRefused(
                    "invalid params, invalid function arguments json string, tool_call_id: "
                    f"{text_or_empty(call.get('id'))} (2013)"
                )


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


FAULTS = (
    refusal_fault(
        "refuses-closure",
        "",
        "every history with calls is refused for want of results that are there",
        RefusalCheck(
            {
                "openai": check_body(_refuse_chat),
                "anthropic": check_body(_refuse_blocks),
                "openai_responses": check_body(_refuse_items),
                "gemini": check_body(_refuse_parts),
            }
        ),
        Effect(
            # The same result as text is no part of a closure.
            {Metric.CLOSURE_ERROR: 1, Metric.RESULT_USE: 1},
            {"error_repair": "unknown", "result_role": "user_text", "image_result": "unknown"},
            hides_replay=True,
        ),
    ),
    refusal_fault(
        "bridge-wanted",
        "Z65",
        "400 where the user speaks right after a result",
        RefusalCheck(
            {"openai": check_body(_check_bridge)}, lambda spec: spec.limit_images("used", "refused")
        ),
    ),
    refusal_fault(
        "function-call-order",
        "Z11",
        "400 where a call follows neither a question nor a result",
        RefusalCheck(
            {"gemini": check_body(_check_part_order), "openai": check_body(_check_call_order)}
        ),
    ),
    refusal_fault(
        "parts-must-equal",
        "Z10",
        "400 where there are not as many results as calls",
        RefusalCheck(
            {"gemini": check_body(_check_part_count), "openai": check_body(_check_call_count)}
        ),
    ),
    refusal_fault(
        "results-in-one-message",
        "Z68",
        "400 where the results of one turn stand in several messages",
        RefusalCheck({"anthropic": check_body(_check_single_message)}),
    ),
    refusal_fault(
        "arguments-must-be-json",
        "Z38",
        "400 where the arguments of a call in the history are no JSON",
        RefusalCheck({"openai": check_body(_check_json_arguments)}),
    ),
)
