from __future__ import annotations

from typing import Any

import httpx
import pytest

from simulators.vendors.registry import SPECS
from simulators.vendors.saying import sign

KEYS = {
    "authorization": "Bearer sim-test",
    "x-api-key": "sim-test",
    "x-goog-api-key": "sim-test",
    "anthropic-version": "2023-06-01",
}
CALL = {"id": "call_X", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ASSISTANT = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "call_X", "content": "r"}
USER = {"role": "user", "content": "hi"}
USE = {"type": "tool_use", "id": "toolu_X", "name": "f", "input": {}}
ANSWERED = {"type": "tool_result", "tool_use_id": "toolu_X", "content": "r"}
G_USER = {"role": "user", "parts": [{"text": "hi"}]}
G_CALL: dict[str, Any] = {"functionCall": {"name": "f", "args": {}, "id": "x"}}
G_SIGNED = {**G_CALL, "thoughtSignature": sign("t")}
G_RESULT = {"functionResponse": {"name": "f", "id": "x", "response": {"output": "r"}}}
PATHS = {
    "openai": "/openai/v1/chat/completions",
    "responses": "/responses/v1/responses",
    "anthropic": "/anthropic/v1/messages",
    "gemini": "/gemini/v1beta/models/sim-gemini-3:generateContent",
    "ollama": "/ollama/api/chat",
    "llamacpp": "/llamacpp/v1/chat/completions",
    "vllm": "/vllm/v1/chat/completions",
    "deepseek": "/deepseek/v1/chat/completions",
}


def chat(*messages: Any, model: str = "sim-steady", **more: Any) -> dict[str, Any]:
    return {"model": model, "messages": list(messages), **more}


def claude(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "sim-steady", "max_tokens": 9, "messages": list(messages), **more}


def items(*entries: Any) -> dict[str, Any]:
    return {"model": "sim-steady", "input": [{"role": "user", "content": "hi"}, *entries]}


def model_says(*parts: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def user_says(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def v4(*messages: Any, **more: Any) -> dict[str, Any]:
    return chat(*messages, model="sim-v4", **more)


REASONED = {**ASSISTANT, "reasoning_content": "t"}
FORCED = {
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
    "tool_choice": "required",
}
OUTPUT = {"type": "function_call_output", "call_id": "call_X", "output": "r"}
ITEM = {"type": "function_call", "call_id": "call_X", "name": "f", "arguments": "{}"}
THINKING = {"type": "thinking", "thinking": "t", "signature": "foreign"}

REFUSED: list[tuple[str, dict[str, Any], int, str]] = [
    (
        "openai",
        chat(USER, ASSISTANT, USER),
        400,
        "An assistant message with 'tool_calls' must be followed by tool messages responding to "
        "each 'tool_call_id'. The following tool_call_ids did not have response messages: call_X",
    ),
    (
        "openai",
        chat(USER, RESULT),
        400,
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
        "with 'tool_calls'.",
    ),
    ("openai", chat(USER, model="nope"), 404, "The model `nope` does not exist"),
    ("responses", items(ITEM), 400, "No tool output found for function call call_X."),
    (
        "responses",
        items(OUTPUT),
        400,
        "No tool call found for function call output with call_id call_X.",
    ),
    ("responses", {**items(), "model": "nope"}, 400, "The requested model 'nope' does not exist."),
    (
        "anthropic",
        claude(USER, assistant(USE), USER),
        400,
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: "
        "toolu_X. Each `tool_use` block must have a corresponding `tool_result` block in the next "
        "message.",
    ),
    (
        "anthropic",
        claude({"role": "user", "content": [ANSWERED]}),
        400,
        "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_X. "
        "Each `tool_result` block must have a corresponding `tool_use` block in the previous "
        "message.",
    ),
    (
        "anthropic",
        claude(USER, assistant(USE, USE), {"role": "user", "content": [ANSWERED]}),
        400,
        "messages.1.content.1: `tool_use` ids must be unique",
    ),
    (
        "anthropic",
        claude(USER, assistant(THINKING, USE), {"role": "user", "content": [ANSWERED]}),
        400,
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    (
        "anthropic",
        claude(
            USER,
            tools=[{"name": "f", "input_schema": {"type": "object"}}],
            tool_choice={"type": "any"},
            thinking={"type": "enabled", "budget_tokens": 1024},
        ),
        400,
        "Thinking may not be enabled when tool_choice forces tool use.",
    ),
    ("anthropic", {**claude(USER), "model": "nope"}, 404, "model: nope"),
    (
        "gemini",
        {"contents": [G_USER, model_says(G_SIGNED, G_CALL), user_says(G_RESULT)]},
        400,
        "Please ensure that the number of function response parts is equal to the number of "
        "function call parts of the function call turn.",
    ),
    (
        "gemini",
        {"contents": [model_says(G_SIGNED), user_says(G_RESULT)]},
        400,
        "Please ensure that function call turn comes immediately after a user turn or after a "
        "function response turn.",
    ),
    (
        "gemini",
        {"contents": [G_USER, user_says(G_RESULT)]},
        400,
        "Please ensure that function response turn comes immediately after a function call turn.",
    ),
    (
        "gemini",
        {"contents": [G_USER, model_says(G_CALL), user_says(G_RESULT)]},
        400,
        "Function call is missing a thought_signature in functionCall parts.",
    ),
    (
        "gemini",
        {
            "contents": [
                G_USER,
                model_says({**G_CALL, "thoughtSignature": "AAAA"}),
                user_says(G_RESULT),
            ]
        },
        400,
        "Invalid thought signature.",
    ),
    ("ollama", chat(USER, model="nope"), 404, "model 'nope' not found"),
    (
        "ollama",
        chat(USER, model="sim-plain:latest", tools=FORCED["tools"]),
        400,
        "registry.ollama.ai/library/sim-plain:latest does not support tools",
    ),
    ("vllm", chat(USER, model="nope"), 404, "The model `nope` does not exist."),
    (
        "deepseek",
        v4(USER, REASONED, USER),
        400,
        "An assistant message with 'tool_calls' must be followed by tool messages responding to "
        "each 'tool_call_id'. (insufficient tool messages following tool_calls message)",
    ),
    (
        "deepseek",
        v4(USER, RESULT),
        400,
        "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
    ),
    (
        "deepseek",
        v4(USER, ASSISTANT, RESULT, USER),
        400,
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
    ),
    (
        "deepseek",
        chat(USER, ASSISTANT, RESULT, model="sim-v3.2-reasoner"),
        400,
        "Missing `reasoning_content` field in the assistant message at message index 1.",
    ),
    ("deepseek", v4(USER, **FORCED), 400, "Thinking mode does not support this tool_choice"),
]

TAKEN: list[tuple[str, dict[str, Any]]] = [
    ("openai", chat(USER, ASSISTANT, RESULT, USER)),
    ("responses", items(ITEM, OUTPUT)),
    ("anthropic", claude(USER, assistant(USE), {"role": "user", "content": [ANSWERED]})),
    ("gemini", {"contents": [G_USER, model_says(G_SIGNED), user_says(G_RESULT)]}),
    # Signatures are demanded of the current turn only.
    ("gemini", {"contents": [G_USER, model_says(G_CALL), user_says(G_RESULT), G_USER]}),
    ("deepseek", v4(USER, REASONED, RESULT, USER)),
    ("deepseek", v4(USER, ASSISTANT, RESULT, thinking={"type": "disabled"})),
    # The older model forgets the reasoning of earlier turns.
    ("deepseek", chat(USER, ASSISTANT, RESULT, USER, model="sim-v3.2-reasoner")),
    # These check no closure.
    ("vllm", chat(USER, ASSISTANT, USER)),
    ("llamacpp", chat(USER, RESULT, model="whatever")),
]


def post(url: str, vendor: str, **sent: Any) -> httpx.Response:
    with httpx.Client(trust_env=False) as client:
        return client.post(url + PATHS[vendor], headers=sent.pop("headers", KEYS), **sent)


def message_of(response: httpx.Response) -> str:
    error = response.json()["error"]
    return str(error if isinstance(error, str) else error["message"])


@pytest.mark.parametrize(
    ("vendor", "body", "status", "text"),
    REFUSED,
    ids=[f"{row[0]}-{row[3][:30]}" for row in REFUSED],
)
def test_what_the_vendor_refuses_is_refused_in_its_words(
    vendor_url: str, vendor: str, body: dict[str, Any], status: int, text: str
) -> None:
    """Status and text as documented."""
    response = post(vendor_url, vendor, json=body)

    assert response.status_code == status
    assert message_of(response).startswith(text)


@pytest.mark.parametrize(("vendor", "body"), TAKEN)
def test_a_history_in_order_is_taken(vendor_url: str, vendor: str, body: dict[str, Any]) -> None:
    """The same rules let the right histories through."""
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
    """Never a traceback: an error of the client's, with a text in it."""
    response = post(vendor_url, vendor, content=content)

    assert response.status_code in (400, 404)
    assert message_of(response)


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
def test_a_key_is_asked_for_in_the_vendors_words(
    vendor_url: str, vendor: str, header: str, missing: tuple[int, str], wrong: tuple[int, str]
) -> None:
    """Without a key and with a wrong one."""
    for headers, (status, text) in (({}, missing), ({header: "Bearer wrong"}, wrong)):
        response = post(vendor_url, vendor, json={}, headers=headers)

        assert response.status_code == status
        assert message_of(response).startswith(text)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_every_side_endpoint_answers(vendor_url: str, spec: Any) -> None:
    """Lists of models, versions and templates are served with a key that is right."""
    body = {"model": next(iter(spec.models))}
    with httpx.Client(trust_env=False, headers=KEYS) as client:
        for method, path in spec.endpoints:
            sent = body if method == "POST" else None
            response = client.request(method, vendor_url + spec.mount + path, json=sent)
            assert response.status_code == 200, path
            assert response.json()


def test_a_stream_of_gemini_without_sse_is_a_list(vendor_url: str) -> None:
    """alt=sse has to be asked for."""
    path = PATHS["gemini"].replace("generateContent", "streamGenerateContent")
    with httpx.Client(trust_env=False, headers=KEYS) as client:
        chunks = client.post(vendor_url + path, json={"contents": [G_USER]}).json()

    assert chunks[-1]["candidates"][0]["finishReason"] == "STOP"
