"""DeepSeek's request rules on both of its routes: known roles and tools, replayed reasoning."""

from __future__ import annotations

import json
from collections.abc import Mapping

from probes.adapters.json_fields import list_or_empty, object_or_empty, text_or_empty
from probes.messages import JSON
from simulators.vendors import closure_rules
from simulators.vendors.anthropic_rules import THINKING_TYPES, read_blocks, read_messages
from simulators.vendors.error_envelopes import RequestRefused
from simulators.vendors.model_traits import ReplayDuty
from simulators.vendors.spec import VendorRequest

Body = Mapping[str, JSON]
ROLES = ("system", "user", "assistant", "tool", "latest_reminder")
REASONING_FIELDS = ("reasoning_content",)


def check_deepseek(request: VendorRequest) -> None:
    _check_variants(request.body)
    _check_choice(request)
    closure_rules.DEEPSEEK_CLOSURE.check(request.body)
    if request.thinks:
        check_reasoning(request.body, request.model.replay)


def check_deepseek_anthropic(request: VendorRequest) -> None:
    _check_choice(request)
    if request.thinks and request.model.replay is ReplayDuty.ALL_TURNS:
        _check_thinking_blocks(request.body)


def check_reasoning(
    body: Body, replay: ReplayDuty, fields: tuple[str, ...] = REASONING_FIELDS
) -> None:
    """Require the reasoning of tool turns in one of the fields: of the current turn, or of all.

    A turn spans from one user message to the next.
    """
    messages = read_messages(body)
    users = [index for index, message in enumerate(messages) if message.get("role") == "user"]
    last_user = users[-1] if users else -1
    called = False
    for index, message in enumerate(messages):
        if message.get("role") == "user":
            called = False
        if message.get("role") != "assistant":
            continue
        called = called or bool(list_or_empty(message.get("tool_calls")))
        if not called or any(isinstance(message.get(name), str | list) for name in fields):
            continue
        if replay is ReplayDuty.ALL_TURNS:
            raise _not_passed_back("reasoning_content")
        if replay is ReplayDuty.SAME_TURN and index > last_user and message.get("tool_calls"):
            raise RequestRefused(
                f"Missing `reasoning_content` field in the assistant message at message index "
                f"{index}. For more information, please refer to "
                "https://api-docs.deepseek.com/guides/thinking_mode#tool-calls"
            )


def _check_variants(body: Body) -> None:
    """Refuse unknown roles, contents and tool types, as the JSON parser says it."""
    for index, message in enumerate(read_messages(body)):
        role = text_or_empty(message.get("role"))
        if role and role not in ROLES:
            known = ", ".join(f"`{name}`" for name in ROLES)
            raise _unknown_variant(f"messages[{index}].role", role, f"one of {known}", body)
        for part in list_or_empty(message.get("content")):
            kind = text_or_empty(object_or_empty(part).get("type"))
            if kind and kind != "text":
                raise _unknown_variant(f"messages[{index}]", kind, "`text`", body)
    for index, item in enumerate(list_or_empty(body.get("tools"))):
        kind = text_or_empty(object_or_empty(item).get("type"))
        if kind and kind != "function":
            raise _unknown_variant(f"tools[{index}].type", kind, "`function`", body)


def _unknown_variant(where: str, value: str, expected: str, body: Body) -> RequestRefused:
    sent = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    column = sent.find(json.dumps(value)) + len(value) + 2
    return RequestRefused(
        f"Failed to deserialize the JSON body into the target type: {where}: unknown variant "
        f"`{value}`, expected {expected} at line 1 column {column}"
    )


def _check_choice(request: VendorRequest) -> None:
    if request.thinks and request.forces:
        raise RequestRefused("Thinking mode does not support this tool_choice")


def _check_thinking_blocks(body: Body) -> None:
    called = False
    for message in read_messages(body):
        kinds = [block.get("type") for block in read_blocks(message)]
        if message.get("role") != "assistant":
            # Results are sent in user messages and do not end a turn.
            called = called and "tool_result" in kinds
            continue
        called = called or "tool_use" in kinds
        if called and not any(kind in THINKING_TYPES for kind in kinds):
            raise _not_passed_back("content[].thinking")


def _not_passed_back(field: str) -> RequestRefused:
    return RequestRefused(
        f"The `{field}` in the thinking mode must be passed back to the API.",
        code="invalid_request_error",
    )
