from __future__ import annotations

import random
from typing import Any

import pytest

from probes.messages import Reasoning, ReasoningKind, ToolCall
from simulators.vendors.item_ids import link_items, make_reasoning_id
from simulators.vendors.reply_style import sign_text
from tests.simulators.refusal_cases import Refusal, post
from tests.simulators.test_vendor_rules import (
    ANSWERED,
    ITEM,
    OUTPUT,
    USE,
    USER,
    assistant,
    claude,
    items,
    v4,
)


def item_id(part: Any) -> str:
    return str(part.extra["openai_responses"]["id"])


def user_blocks(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


SIGNED = {"type": "thinking", "thinking": "t", "signature": sign_text("t")}
TEXT_BLOCK = {"type": "text", "text": "so"}
RS_ID = make_reasoning_id(random.Random(1))
REASONING = {"type": "reasoning", "id": RS_ID, "summary": []}
FC_ID = item_id(
    link_items(
        [Reasoning("t", ReasoningKind.ITEM, {"id": RS_ID}), ToolCall("call_X", "f", {}, "", "")]
    )[1]
)

REFUSED = [
    Refusal(
        "anthropic",
        claude(USER, frobnicate=1),
        "frobnicate: Extra inputs are not permitted",
        "param_unknown",
    ),
    Refusal(
        "anthropic",
        claude({**USER, "reasoning_content": "t"}),
        "messages.0.reasoning_content: Extra inputs are not permitted",
        "param_unknown",
    ),
    Refusal(
        "anthropic",
        claude(USER, thinking={"type": "adaptive", "block_binding": {}}),
        "thinking.adaptive.block_binding: Extra inputs are not permitted",
        "param_unknown",
    ),
    Refusal(
        "anthropic",
        claude({"role": "user", "content": [{"type": "text", "text": " \n"}]}),
        "messages: text content blocks must contain non-whitespace text",
        "provider_error",
    ),
    Refusal(
        "anthropic",
        claude({"role": "user", "content": ""}),
        "messages: text content blocks must be non-empty",
        "provider_error",
    ),
    Refusal(
        "anthropic",
        claude(USER, assistant(USE), {"role": "user", "content": [ANSWERED, ANSWERED]}),
        "messages.2.content.1: each tool_use must have a single result. Found multiple "
        "`tool_result` blocks with id: toolu_X",
        "closure_duplicate",
    ),
    Refusal(
        "anthropic",
        claude(USER, assistant(USE), {"role": "user", "content": [TEXT_BLOCK, ANSWERED]}),
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: "
        "toolu_X.",
        "closure_missing",
    ),
    Refusal(
        "anthropic",
        claude(
            USER,
            assistant({**USE, "id": "functions.f:0"}),
            {"role": "user", "content": [{**ANSWERED, "tool_use_id": "functions.f:0"}]},
        ),
        "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        "id_format",
    ),
    Refusal(
        "anthropic",
        claude(USER, assistant(TEXT_BLOCK, SIGNED), USER),
        "messages.1.content.0: If an assistant message contains any thinking blocks, the first "
        "block must be `thinking` or `redacted_thinking`. Found `text`.",
        "replay_signature_bad",
    ),
    Refusal(
        "responses",
        items({**ITEM, "id": FC_ID}, OUTPUT),
        f"Item '{FC_ID}' of type 'function_call' was provided without its required 'reasoning' "
        f"item: '{RS_ID}'.",
        "replay_item",
    ),
    Refusal(
        "responses",
        items(REASONING),
        f"Item '{RS_ID}' of type 'reasoning' was provided without its required following item.",
        "replay_item",
    ),
    Refusal(
        "responses",
        items({**ITEM, "id": "msg_1"}, OUTPUT),
        "Invalid 'input[1].id': 'msg_1'. Expected an ID that begins with 'fc'.",
        "id_format",
    ),
    Refusal(
        "responses",
        items(ITEM, OUTPUT, OUTPUT),
        "Duplicate function_call_output for call_id 'call_X'. Each function_call must have exactly "
        "one matching function_call_output",
        "closure_duplicate",
    ),
    Refusal(
        "responses",
        {**items(), "previous_response_id": "resp_1"},
        "Previous response with id 'resp_1' not found.",
        "provider_error",
    ),
    Refusal(
        "deepseek",
        v4(USER, {"role": "developer", "content": "Be brief."}),
        "Failed to deserialize the JSON body into the target type: messages[1].role: unknown "
        "variant `developer`, expected one of `system`, `user`, `assistant`, `tool`, "
        "`latest_reminder` at line 1 column ",
        "role_refused",
    ),
    Refusal(
        "deepseek",
        v4(USER, tools=[{"type": "namespace", "name": "n"}]),
        "Failed to deserialize the JSON body into the target type: tools[0].type: unknown variant "
        "`namespace`, expected `function` at line 1 column ",
        "schema_refused",
    ),
]

ACCEPTED: list[tuple[str, dict[str, Any]]] = [
    ("responses", items(REASONING, {**ITEM, "id": FC_ID}, OUTPUT)),
    # Without its id a call cannot be traced to its reasoning.
    ("responses", items(ITEM, OUTPUT, {"role": "user", "content": "on"})),
    ("responses", items({**ITEM, "id": "fc_of-somebody-else"}, OUTPUT)),
    ("anthropic", claude(USER, assistant(SIGNED, USE), user_blocks(ANSWERED, TEXT_BLOCK))),
    ("anthropic", claude(USER, assistant(USE), user_blocks(ANSWERED), metadata={"user_id": "u"})),
    ("deepseek", v4({"role": "system", "content": "Be brief."}, USER)),
]


@pytest.mark.parametrize("refusal", REFUSED, ids=str)
def test_rules_beyond_the_json_shape_refuse_requests(vendor_url: str, refusal: Refusal) -> None:
    """Unknown fields, blank texts, wrong ids, duplicates and incomplete pairs are refused."""
    refusal.check(vendor_url)


@pytest.mark.parametrize(("vendor", "body"), ACCEPTED)
def test_rules_beyond_the_json_shape_accept_valid_requests(
    vendor_url: str, vendor: str, body: dict[str, Any]
) -> None:
    """The stricter rules accept valid requests."""
    response = post(vendor_url, vendor, json=body)

    assert response.status_code == 200, response.text
