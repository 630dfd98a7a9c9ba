from __future__ import annotations

from typing import Any

import pytest

from simulators.faults.refusals import closure_refusals, id_refusals
from tests.simulators.raw_requests import (
    CLAUDE_HISTORY,
    G_CALL,
    G_HISTORY,
    G_RESULT,
    G_SIGNED,
    G_USER,
    HISTORY,
    ITEMS,
    TOOLS,
    USER,
    assistant_blocks,
    assistant_calls,
    call,
    chat,
    classify_refusal,
    contents,
    error_message,
    item,
    output,
    post,
    result,
    tool_results,
    tool_use,
)

ORDER = (
    "Please ensure that function call turn comes immediately after a user turn or after a function "
    "response turn."
)
EQUAL = (
    "Please ensure that the number of function response parts is equal to the number of function "
    "call parts of the function call turn."
)
Case = tuple[str, str, dict[str, Any], str, str]

# Switches, vendor, request, the whole message, and the kind of refusal.
REFUSED: list[Case] = [
    (
        "refuses-closure",
        "openai",
        HISTORY,
        "An assistant message with 'tool_calls' must be followed by tool messages responding to "
        "each 'tool_call_id'. The following tool_call_ids did not have response messages: call_X",
        "closure_missing",
    ),
    (
        "refuses-closure",
        "anthropic",
        CLAUDE_HISTORY,
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: "
        "toolu_X. Each `tool_use` block must have a corresponding `tool_result` block in the next "
        "message.",
        "closure_missing",
    ),
    (
        "refuses-closure",
        "openai_responses",
        ITEMS,
        "No tool output found for function call call_X.",
        "closure_missing",
    ),
    ("refuses-closure", "gemini", G_HISTORY, EQUAL, "closure_missing"),
    (
        "unique-ids",
        "vllm",
        chat(USER, assistant_calls(call("a"), call("a")), result("a"), result("a")),
        "messages.1.content.1: `tool_use` ids must be unique",
        "closure_duplicate",
    ),
    (
        "unique-ids",
        "anthropic",
        chat(
            USER,
            assistant_blocks(tool_use("a")),
            tool_results("a"),
            assistant_blocks(tool_use("a")),
            tool_results("a"),
        ),
        "messages.3.content.0: `tool_use` ids must be unique",
        "closure_duplicate",
    ),
    (
        "duplicate-output",
        "openai_responses",
        {"input": [USER, item("t:0"), output("t:0"), item("t:0"), output("t:0")]},
        "Duplicate function_call_output for call_id 't:0'. Each function_call must have exactly "
        "one matching function_call_output",
        "closure_duplicate",
    ),
    (
        "nine-character-ids",
        "openai",
        HISTORY,
        "Tool call id was call_X but must be a-z, A-Z, 0-9, with a length of 9.",
        "id_format",
    ),
    (
        "bridge-wanted",
        "openai",
        chat(*HISTORY["messages"], USER),
        "Unexpected role 'user' after role 'tool'",
        "closure_order",
    ),
    (
        "bridge-wanted",
        "vllm",
        chat(USER, result("call_X")),
        "Unexpected role 'tool' after role 'user'",
        "closure_order",
    ),
    (
        "function-call-order",
        "vllm",
        chat({"role": "system", "content": "s"}, *HISTORY["messages"][1:]),
        ORDER,
        "closure_order",
    ),
    (
        "function-call-order",
        "gemini",
        contents(("model", [G_SIGNED]), ("user", [G_RESULT])),
        ORDER,
        "closure_order",
    ),
    (
        "parts-must-equal",
        "vllm",
        chat(USER, assistant_calls(call("a"), call("b")), result("a")),
        EQUAL,
        "closure_missing",
    ),
    (
        "parts-must-equal",
        "gemini",
        contents(G_USER, ("model", [G_SIGNED, G_CALL]), ("user", [G_RESULT])),
        EQUAL,
        "closure_missing",
    ),
    (
        "results-in-one-message",
        "anthropic",
        chat(
            USER,
            assistant_blocks(tool_use("a"), tool_use("b")),
            tool_results("a"),
            tool_results("b"),
        ),
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: b. "
        "Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        "closure_missing",
    ),
    (
        "arguments-must-be-json",
        "openai",
        chat(USER, assistant_calls(call("call_X", '{"a": ')), result("call_X")),
        "invalid params, invalid function arguments json string, tool_call_id: call_X (2013)",
        "args_history",
    ),
]
NINE = chat(USER, assistant_calls(call("a1B2c3D4e")), result("a1B2c3D4e"))
BRIDGED = chat(*HISTORY["messages"], {"role": "assistant", "content": "Done."}, USER)

# The most similar histories that the same switches accept.
ACCEPTED: list[tuple[str, str, dict[str, Any]]] = [
    ("refuses-closure", "openai", chat(USER, **TOOLS)),
    ("unique-ids", "vllm", HISTORY),
    ("duplicate-output", "openai_responses", ITEMS),
    ("nine-character-ids", "openai", NINE),
    ("bridge-wanted", "openai", BRIDGED),
    ("function-call-order", "vllm", HISTORY),
    ("function-call-order", "gemini", G_HISTORY),
    ("parts-must-equal", "vllm", HISTORY),
    ("parts-must-equal", "gemini", G_HISTORY),
    ("results-in-one-message", "anthropic", CLAUDE_HISTORY),
    ("arguments-must-be-json", "openai", HISTORY),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: f"{case[0]}-{case[1]}")
def test_a_history_is_refused_with_the_vendors_message(vendor_url: str, case: Case) -> None:
    """The vendor's envelope has the whole message, and our classifier recognises it."""
    switches, vendor, body, text, kind = case
    answer = post(vendor_url, switches, vendor, body)

    assert (answer.status_code, error_message(answer)) == (400, text)
    assert classify_refusal(vendor, answer) == kind


@pytest.mark.parametrize(("switches", "vendor", "body"), ACCEPTED)
def test_a_similar_valid_history_is_accepted(
    vendor_url: str, switches: str, vendor: str, body: dict[str, Any]
) -> None:
    """A refusal applies only to its own reason."""
    answer = post(vendor_url, switches, vendor, body)

    assert answer.status_code == 200, answer.text


def test_every_refusal_is_covered() -> None:
    """Every fault of the families is covered here."""
    names = {fault.name for family in (closure_refusals, id_refusals) for fault in family.FAULTS}

    assert {switches for switches, *_ in REFUSED} == names


@pytest.mark.parametrize(
    ("switches", "body", "code"),
    [
        ("nine-character-ids", HISTORY, "3280"),
        ("bridge-wanted", chat(*HISTORY["messages"], USER), "3230"),
    ],
)
def test_an_error_has_the_vendors_code(
    vendor_url: str, switches: str, body: dict[str, Any], code: str
) -> None:
    """Errors have the codes that relays and clients check."""
    assert post(vendor_url, switches, "openai", body).json()["error"]["code"] == code


def test_ids_of_nine_characters_are_issued(vendor_url: str) -> None:
    """A vendor that requires nine-character ids also issues them."""
    body = chat(USER, **TOOLS, tool_choice="required")
    (made,) = post(vendor_url, "nine-character-ids", "openai", body).json()["choices"][0][
        "message"
    ]["tool_calls"]

    assert len(made["id"]) == 9
    assert made["id"].isalnum()
