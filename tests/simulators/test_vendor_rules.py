from __future__ import annotations

from typing import Any

import httpx
import pytest

from simulators.vendors.reply_style import sign_text
from simulators.vendors.vendor_registry import SPECS
from tests.simulators.refusal_cases import KEYS, PATHS, Refusal, post, read_message

CALL = {"id": "call_X", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ASSISTANT = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "call_X", "content": "r"}
USER = {"role": "user", "content": "hi"}
USE = {"type": "tool_use", "id": "toolu_X", "name": "f", "input": {}}
ANSWERED = {"type": "tool_result", "tool_use_id": "toolu_X", "content": "r"}
G_USER = {"role": "user", "parts": [{"text": "hi"}]}
G_CALL: dict[str, Any] = {"functionCall": {"name": "f", "args": {}, "id": "x"}}
G_SIGNED = {**G_CALL, "thoughtSignature": sign_text("t")}
G_RESULT = {"functionResponse": {"name": "f", "id": "x", "response": {"output": "r"}}}


def chat(*messages: Any, model: str = "sim-steady", **fields: Any) -> dict[str, Any]:
    return {"model": model, "messages": list(messages), **fields}


def claude(*messages: Any, **fields: Any) -> dict[str, Any]:
    return {"model": "sim-steady", "max_tokens": 9, "messages": list(messages), **fields}


def items(*entries: Any) -> dict[str, Any]:
    return {"model": "sim-steady", "input": [{"role": "user", "content": "hi"}, *entries]}


def model_content(*parts: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def user_content(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def v4(*messages: Any, **fields: Any) -> dict[str, Any]:
    return chat(*messages, model="sim-v4", **fields)


REASONED = {**ASSISTANT, "reasoning_content": "t"}
FORCED = {
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
    "tool_choice": "required",
}
OUTPUT = {"type": "function_call_output", "call_id": "call_X", "output": "r"}
ITEM = {"type": "function_call", "call_id": "call_X", "name": "f", "arguments": "{}"}
THINKING = {"type": "thinking", "thinking": "t", "signature": "foreign"}

REFUSED = [
    Refusal(
        "openai",
        chat(USER, ASSISTANT, USER),
        "An assistant message with 'tool_calls' must be followed by tool messages responding to "
        "each 'tool_call_id'. The following tool_call_ids did not have response messages: call_X",
        "closure_missing",
    ),
    Refusal(
        "openai",
        chat(USER, RESULT),
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
        "with 'tool_calls'.",
        "closure_orphan",
    ),
    Refusal(
        "openai",
        chat(USER, model="nope"),
        "The model `nope` does not exist",
        "not_found",
        status=404,
    ),
    Refusal(
        "responses",
        items(ITEM),
        "No tool output found for function call call_X.",
        "closure_missing",
    ),
    Refusal(
        "responses",
        items(OUTPUT),
        "No tool call found for function call output with call_id call_X.",
        "closure_orphan",
    ),
    Refusal(
        "responses",
        {**items(), "model": "nope"},
        "The requested model 'nope' does not exist.",
        "not_found",
    ),
    Refusal(
        "anthropic",
        claude(USER, assistant(USE), USER),
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: "
        "toolu_X. Each `tool_use` block must have a corresponding `tool_result` block in the next "
        "message.",
        "closure_missing",
    ),
    Refusal(
        "anthropic",
        claude({"role": "user", "content": [ANSWERED]}),
        "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_X. "
        "Each `tool_result` block must have a corresponding `tool_use` block in the previous "
        "message.",
        "closure_orphan",
    ),
    Refusal(
        "anthropic",
        claude(USER, assistant(USE, USE), {"role": "user", "content": [ANSWERED]}),
        "messages.1.content.1: `tool_use` ids must be unique",
        "closure_duplicate",
    ),
    Refusal(
        "anthropic",
        claude(USER, assistant(THINKING, USE), {"role": "user", "content": [ANSWERED]}),
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        "replay_signature_bad",
    ),
    Refusal(
        "anthropic",
        claude(
            USER,
            tools=[{"name": "f", "input_schema": {"type": "object"}}],
            tool_choice={"type": "any"},
            thinking={"type": "enabled", "budget_tokens": 1024},
        ),
        "Thinking may not be enabled when tool_choice forces tool use.",
        "forced_choice",
    ),
    Refusal("anthropic", {**claude(USER), "model": "nope"}, "model: nope", "not_found", status=404),
    Refusal(
        "gemini",
        {"contents": [G_USER, model_content(G_SIGNED, G_CALL), user_content(G_RESULT)]},
        "Please ensure that the number of function response parts is equal to the number of "
        "function call parts of the function call turn.",
        "closure_missing",
    ),
    Refusal(
        "gemini",
        {"contents": [model_content(G_SIGNED), user_content(G_RESULT)]},
        "Please ensure that function call turn comes immediately after a user turn or after a "
        "function response turn.",
        "closure_order",
    ),
    Refusal(
        "gemini",
        {"contents": [G_USER, user_content(G_RESULT)]},
        "Please ensure that function response turn comes immediately after a function call turn.",
        "closure_orphan",
    ),
    Refusal(
        "gemini",
        {"contents": [G_USER, model_content(G_CALL), user_content(G_RESULT)]},
        "Function call is missing a thought_signature in functionCall parts.",
        "replay_signature_missing",
    ),
    Refusal(
        "gemini",
        {
            "contents": [
                G_USER,
                model_content({**G_CALL, "thoughtSignature": "AAAA"}),
                user_content(G_RESULT),
            ]
        },
        "Invalid thought signature.",
        "replay_signature_bad",
    ),
    Refusal("ollama", chat(USER, model="nope"), "model 'nope' not found", "not_found", status=404),
    Refusal(
        "ollama",
        chat(USER, model="sim-plain:latest", tools=FORCED["tools"]),
        "registry.ollama.ai/library/sim-plain:latest does not support tools",
        "no_tools",
    ),
    Refusal(
        "vllm",
        chat(USER, model="nope"),
        "The model `nope` does not exist.",
        "not_found",
        status=404,
    ),
    Refusal(
        "deepseek",
        v4(USER, REASONED, USER),
        "An assistant message with 'tool_calls' must be followed by tool messages responding to "
        "each 'tool_call_id'. (insufficient tool messages following tool_calls message)",
        "closure_missing",
    ),
    Refusal(
        "deepseek",
        v4(USER, RESULT),
        "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
        "closure_orphan",
    ),
    Refusal(
        "deepseek",
        v4(USER, ASSISTANT, RESULT, USER),
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        "replay_missing",
    ),
    Refusal(
        "deepseek",
        chat(USER, ASSISTANT, RESULT, model="sim-v3.2-reasoner"),
        "Missing `reasoning_content` field in the assistant message at message index 1.",
        "replay_missing",
    ),
    Refusal(
        "deepseek",
        v4(USER, **FORCED),
        "Thinking mode does not support this tool_choice",
        "forced_choice",
    ),
]

ACCEPTED: list[tuple[str, dict[str, Any]]] = [
    ("openai", chat(USER, ASSISTANT, RESULT, USER)),
    ("responses", items(ITEM, OUTPUT)),
    ("anthropic", claude(USER, assistant(USE), {"role": "user", "content": [ANSWERED]})),
    ("gemini", {"contents": [G_USER, model_content(G_SIGNED), user_content(G_RESULT)]}),
    # Signatures are required in the current turn only.
    ("gemini", {"contents": [G_USER, model_content(G_CALL), user_content(G_RESULT), G_USER]}),
    ("deepseek", v4(USER, REASONED, RESULT, USER)),
    ("deepseek", v4(USER, ASSISTANT, RESULT, thinking={"type": "disabled"})),
    # The older model does not require the reasoning of earlier turns.
    ("deepseek", chat(USER, ASSISTANT, RESULT, USER, model="sim-v3.2-reasoner")),
    # These check no closure.
    ("vllm", chat(USER, ASSISTANT, USER)),
    ("llamacpp", chat(USER, RESULT, model="whatever")),
]


@pytest.mark.parametrize("refusal", REFUSED, ids=str)
def test_a_vendor_refuses_invalid_histories_with_its_own_message(
    vendor_url: str, refusal: Refusal
) -> None:
    """Status and message are as documented, and our classifier recognises the refusal."""
    refusal.check(vendor_url)


@pytest.mark.parametrize(("vendor", "body"), ACCEPTED)
def test_a_valid_history_is_accepted(vendor_url: str, vendor: str, body: dict[str, Any]) -> None:
    """The same rules accept valid histories."""
    assert post(vendor_url, vendor, json=body).status_code == 200


@pytest.mark.parametrize("vendor", PATHS)
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"model": 5}',
        b'{"model": "sim-steady", "messages": 7, "contents": 7, "input": 7, "max_tokens": 9}',
        b'{"model": "sim-steady", "messages": [7], "contents": [7], "input": [7], "max_tokens": 9}',
        b'{"model": "sim-steady", "messages": [{"role": "assistant", "content": [{}], '
        b'"tool_calls": [4]}], "contents": [{"parts": 4}], "input": [{}], "max_tokens": 9}',
        b"[" * 10_000,
    ],
)
def test_a_malformed_body_gets_the_vendors_envelope(
    vendor_url: str, vendor: str, content: bytes
) -> None:
    """A malformed body gets a client error with a message, never a traceback."""
    response = post(vendor_url, vendor, content=content)

    assert response.status_code in (400, 404)
    assert read_message(response)


@pytest.mark.parametrize(
    ("vendor", "header", "missing", "wrong"),
    [
        ("openai", "authorization", (401, "You didn't provide"), (401, "Incorrect API key")),
        (
            "deepseek",
            "authorization",
            (401, "Authentication Fails"),
            (401, "Authentication Fails,"),
        ),
        ("anthropic", "x-api-key", (401, "x-api-key header is"), (401, "invalid x-api-key")),
        ("gemini", "x-goog-api-key", (403, "Method doesn't allow"), (400, "API key not valid.")),
    ],
)
def test_a_missing_or_wrong_key_gets_the_vendors_message(
    vendor_url: str, vendor: str, header: str, missing: tuple[int, str], wrong: tuple[int, str]
) -> None:
    """A missing and a wrong key get the vendor's status and message."""
    for headers, (status, text) in (({}, missing), ({header: "Bearer wrong"}, wrong)):
        response = post(vendor_url, vendor, json={}, headers=headers)

        assert response.status_code == status
        assert read_message(response).startswith(text)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_every_metadata_endpoint_answers(vendor_url: str, spec: Any) -> None:
    """Lists of models, versions and templates are served with a valid key."""
    body = {"model": next(iter(spec.models))}
    with httpx.Client(trust_env=False, headers=KEYS) as client:
        for method, path in spec.endpoints:
            sent = body if method == "POST" else None
            response = client.request(method, vendor_url + spec.mount + path, json=sent)
            assert response.status_code == 200, path
            assert response.json()


def test_a_stream_of_gemini_without_sse_is_a_list(vendor_url: str) -> None:
    """Without alt=sse the stream is one JSON list."""
    path = PATHS["gemini"].replace("generateContent", "streamGenerateContent")
    with httpx.Client(trust_env=False, headers=KEYS) as client:
        chunks = client.post(vendor_url + path, json={"contents": [G_USER]}).json()

    assert chunks[-1]["candidates"][0]["finishReason"] == "STOP"
