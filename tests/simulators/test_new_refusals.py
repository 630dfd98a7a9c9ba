from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.simulators.refusal_cases import BY_NAME, Refusal, post, read_message

USER = {"role": "user", "content": "hi"}
NINE = "abcDEF123"
FUNCTION = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
TOOL = {"name": "f", "input_schema": {"type": "object"}}
NAMED = {"type": "function", "function": {"name": "f"}}
QWEN = "<400> InternalError.Algo.InvalidParameter: "


def calls(*ids: str, arguments: str = "{}", **options: Any) -> dict[str, Any]:
    function = {"name": "f", "arguments": arguments}
    tool_calls = [{"id": id_, "type": "function", "function": function} for id_ in ids]
    return {"role": "assistant", "content": None, "tool_calls": tool_calls, **options}


def result(id_: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": "r"}


def use(*ids: str) -> dict[str, Any]:
    blocks = [{"type": "tool_use", "id": id_, "name": "f", "input": {}} for id_ in ids]
    return {"role": "assistant", "content": blocks}


def used(*ids: str) -> dict[str, Any]:
    blocks = [{"type": "tool_result", "tool_use_id": id_, "content": "r"} for id_ in ids]
    return {"role": "user", "content": blocks}


def build_request(vendor: str, *messages: Any, **options: Any) -> dict[str, Any]:
    """A request to the vendor's first model."""
    spec = BY_NAME[vendor]
    body = {"model": next(iter(spec.models)), "messages": list(messages), **options}
    return {"max_tokens": 99, **body} if spec.format == "anthropic" else body


def ask(url: str, vendor: str, *messages: Any, **options: Any) -> httpx.Response:
    return post(url, vendor, json=build_request(vendor, *messages, **options))


REFUSED = [
    Refusal(
        "minimax",
        build_request("minimax", USER, result("call_function_x_1")),
        "invalid params, tool result's tool id(call_function_x_1) not found (2013)",
        "closure_orphan",
    ),
    Refusal(
        "minimax",
        build_request("minimax", USER, calls("a"), USER),
        "invalid params, tool call result does not follow tool call (2013)",
        "closure_order",
    ),
    Refusal(
        "minimax",
        build_request("minimax", USER, calls("a"), result("a"), USER, result("a")),
        "invalid params, tool call result does not follow tool call (2013)",
        "closure_order",
    ),
    Refusal(
        "minimax",
        build_request("minimax", USER, calls("a", arguments='{"x":'), result("a")),
        "invalid params, invalid function arguments json string, tool_call_id: a (2013)",
        "args_history",
    ),
    Refusal(
        "minimax",
        build_request("minimax", USER, tools=[{"type": "function", "function": {"name": "f"}}]),
        "invalid params, function parameters is empty (2013)",
        "schema_refused",
    ),
    Refusal(
        "minimax",
        build_request("minimax", USER, model="nope"),
        "invalid params, unknown model 'nope' (2013)",
        "not_found",
    ),
    Refusal(
        "minimax-anthropic",
        build_request("minimax-anthropic", USER, used("a")),
        "invalid params, tool result's tool id(a) not found (2013)",
        "closure_orphan",
    ),
    Refusal(
        "minimax-anthropic",
        build_request("minimax-anthropic", USER, use("a"), USER),
        "invalid params, tool call result does not follow tool call (2013)",
        "closure_order",
    ),
    Refusal(
        "glm",
        build_request("glm", USER, tools=[FUNCTION], tool_choice="required"),
        "Tool choice must be auto",
        "forced_choice",
    ),
    Refusal(
        "glm",
        build_request("glm", USER, tools=[FUNCTION], tool_choice="none"),
        "Tool choice must be auto",
        "forced_choice",
    ),
    Refusal(
        "glm",
        build_request("glm", "no message"),
        "Invalid API parameter, please check the documentation.",
        "param_unknown",
    ),
    Refusal(
        "glm",
        build_request("glm", USER, model="nope"),
        "Unknown Model, please check the model code.",
        "not_found",
    ),
    Refusal(
        "qwen",
        build_request("qwen", USER, tools=[FUNCTION], tool_choice=NAMED),
        f"{QWEN}The tool_choice parameter does not support being set to required or object in "
        "thinking mode",
        "forced_choice",
    ),
    Refusal(
        "qwen",
        build_request("qwen", USER, calls("a"), USER),
        f'{QWEN}An assistant message with "tool_calls" must be followed by tool messages '
        'responding to each "tool_call_id". The following tool_call_ids did not have response '
        "messages: message[2].role",
        "closure_missing",
    ),
    Refusal(
        "qwen",
        build_request("qwen", USER, result("a")),
        f'{QWEN}messages with role "tool" must be a response to a preceeding message with '
        '"tool_calls".',
        "closure_orphan",
    ),
    Refusal(
        "qwen",
        build_request("qwen", USER, model="nope"),
        "The model `nope` does not exist",
        "not_found",
        status=404,
    ),
    Refusal(
        "kimi",
        build_request("kimi", USER, calls("functions.f:0"), result("functions.f:0")),
        "thinking is enabled but reasoning_content is missing in assistant tool call message at "
        "index 1",
        "replay_missing",
    ),
    Refusal(
        "kimi",
        build_request("kimi", USER, calls("functions.f:0"), result("functions.f:0"), USER),
        "thinking is enabled but reasoning_content is missing in assistant tool call message at "
        "index 1",
        "replay_missing",
    ),
    Refusal(
        "kimi",
        build_request("kimi", USER, tools=[FUNCTION], tool_choice="required"),
        "tool_choice 'required' is incompatible with thinking enabled",
        "forced_choice",
    ),
    Refusal(
        "kimi",
        build_request("kimi", USER, tools=[FUNCTION], tool_choice=NAMED),
        "tool_choice 'specified' is incompatible with thinking enabled",
        "forced_choice",
    ),
    Refusal(
        "kimi",
        build_request("kimi", USER, thinking=True),
        "the thinking field in the request (expected type object) is illegal",
        "thinking_mode_refused",
    ),
    Refusal(
        "kimi",
        build_request("kimi", USER, thinking={"type": "enabled"}, reasoning_effort="low"),
        "cannot specify both 'thinking' and 'reasoning_effort'",
        "provider_error",
    ),
    Refusal(
        "kimi",
        build_request("kimi", USER, calls("functions.f:0"), USER),
        "an assistant message with 'tool_calls' must be followed by tool messages responding to "
        "each 'tool_call_id'. The following tool_call_ids did not have response messages: "
        "functions.f:0",
        "closure_missing",
    ),
    Refusal(
        "kimi",
        build_request("kimi", USER, result("functions.f:7")),
        "tool message tool_call_id 'functions.f:7' does not match any tool call in the preceding "
        "assistant messages",
        "closure_orphan",
    ),
    Refusal(
        "kimi",
        build_request("kimi", USER, model="nope"),
        "Not found the model nope or Permission denied",
        "not_found",
        status=404,
    ),
    Refusal(
        "mistral",
        build_request("mistral", USER, calls(NINE), result(NINE), USER),
        "Unexpected role 'user' after role 'tool'",
        "closure_order",
    ),
    Refusal(
        "mistral",
        build_request("mistral", USER, result(NINE)),
        "Unexpected role 'tool' after role 'user'",
        "closure_order",
    ),
    Refusal(
        "mistral",
        build_request("mistral", USER, calls(NINE), USER),
        "Not the same number of function calls and responses",
        "provider_error",
    ),
    Refusal(
        "mistral",
        build_request("mistral", USER, calls(NINE, "abcDEF124"), result(NINE)),
        "Not the same number of function calls and responses",
        "provider_error",
    ),
    Refusal(
        "mistral",
        build_request("mistral", USER, {"role": "assistant", "content": "so"}),
        "Expected last role User or Tool (or Assistant with prefix True) for serving but got "
        "assistant",
        "closure_order",
    ),
    Refusal(
        "mistral",
        build_request("mistral", USER, calls("call_X"), result("call_X")),
        "Tool call id was call_X but must be a-z, A-Z, 0-9, with a length of 9.",
        "id_format",
    ),
    Refusal(
        "mistral",
        build_request("mistral", USER, model="nope"),
        "Invalid model: nope",
        "provider_error",
    ),
    Refusal(
        "relay",
        build_request("relay", USER, calls("a"), USER),
        "Provider returned error",
        "closure_missing",
    ),
    Refusal(
        "relay",
        build_request("relay", USER, result("a")),
        "Provider returned error",
        "closure_orphan",
    ),
    Refusal(
        "relay",
        build_request("relay", USER, model="nope"),
        "nope is not a valid model ID",
        "not_found",
    ),
    Refusal(
        "deepseek-anthropic",
        build_request("deepseek-anthropic", USER, use("a"), used("a")),
        "The `content[].thinking` in the thinking mode must be passed back to the API.",
        "replay_missing",
    ),
    Refusal(
        "deepseek-anthropic",
        build_request(
            "deepseek-anthropic",
            USER,
            use("a"),
            used("a"),
            {"role": "assistant", "content": "done"},
            USER,
        ),
        "The `content[].thinking` in the thinking mode must be passed back to the API.",
        "replay_missing",
    ),
    Refusal(
        "deepseek-anthropic",
        build_request("deepseek-anthropic", USER, tools=[TOOL], tool_choice={"type": "any"}),
        "Thinking mode does not support this tool_choice",
        "forced_choice",
    ),
    Refusal(
        "anthropic-strict",
        build_request(
            "anthropic-strict",
            USER,
            tools=[TOOL],
            tool_choice={"type": "tool", "name": "f"},
        ),
        'tool_choice: type "tool" and "any" are not supported for this model.',
        "forced_choice",
    ),
    Refusal(
        "anthropic-strict",
        build_request("anthropic-strict", USER, thinking={"type": "disabled"}),
        '"thinking.type.disabled" is not supported for this model. Use "thinking.type.adaptive" '
        'and "output_config.effort" to control thinking behavior.',
        "thinking_mode_refused",
    ),
    Refusal(
        "anthropic-strict",
        build_request(
            "anthropic-strict", USER, thinking={"type": "enabled", "budget_tokens": 1024}
        ),
        '"thinking.type.enabled" is not supported for this model.',
        "thinking_mode_refused",
    ),
    Refusal(
        "anthropic-strict",
        build_request("anthropic-strict", USER, thinking={"type": "adaptive", "block_binding": {}}),
        "thinking.adaptive.block_binding: Extra inputs are not permitted",
        "param_unknown",
    ),
    Refusal(
        "anthropic-strict",
        build_request(
            "anthropic-strict",
            USER,
            {
                "role": "assistant",
                "content": [{"type": "thinking", "thinking": "", "signature": "foreign"}],
            },
            USER,
        ),
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        "replay_signature_bad",
    ),
    Refusal(
        "qwen-hermes",
        build_request("qwen-hermes", USER, model="nope"),
        "The model `nope` does not exist.",
        "not_found",
        status=404,
    ),
]


@pytest.mark.parametrize("refusal", REFUSED, ids=str)
def test_a_vendor_refuses_invalid_requests_with_its_own_message(
    vendor_url: str, refusal: Refusal
) -> None:
    """Status and message are as documented, and our classifier recognises the refusal."""
    refusal.check(vendor_url)


THINKS_NOT = {"thinking": {"type": "disabled"}}
ACCEPTED: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("minimax", (USER, calls("a", "b"), result("b"), result("a"), USER), {}),
    ("minimax-anthropic", (USER, use("a", "b"), used("a", "b")), {}),
    ("glm", (USER, calls("a"), USER), {"tools": [FUNCTION], "tool_choice": "auto"}),
    ("qwen", (USER,), {"tools": [FUNCTION], "tool_choice": NAMED, "enable_thinking": False}),
    ("qwen", (USER, calls("a"), result("a")), {}),
    ("kimi", (USER, calls("a"), result("a")), THINKS_NOT),
    ("kimi", (USER, calls("a", reasoning_content="t"), result("a")), {}),
    # A message without calls needs no reasoning.
    ("kimi", (USER, {"role": "assistant", "content": "so"}, USER), {}),
    ("kimi", (USER,), {**THINKS_NOT, "tools": [FUNCTION], "tool_choice": "required"}),
    ("mistral", (USER, calls(NINE), result(NINE)), {}),
    (
        "mistral",
        (USER, calls(NINE), result(NINE), {"role": "assistant", "content": "so"}, USER),
        {},
    ),
    ("mistral", (USER, {"role": "assistant", "content": "so", "prefix": True}), {}),
    ("mistral", (USER,), {"tools": [FUNCTION], "tool_choice": "any"}),
    ("relay", (USER, calls("a"), result("a")), {"reasoning": {"enabled": True}}),
    ("deepseek-anthropic", (USER, use("a"), used("a")), THINKS_NOT),
    ("deepseek-anthropic", (USER, {"role": "assistant", "content": "so"}, USER), {}),
    ("anthropic-strict", (USER, use("a"), used("a")), {}),
    ("vllm-bare", (USER, calls("a"), USER), {"tools": [FUNCTION], "tool_choice": "required"}),
    ("qwen-xml", (USER, result("a")), {}),
]


@pytest.mark.parametrize(("vendor", "messages", "options"), ACCEPTED)
def test_a_vendor_accepts_valid_requests(
    vendor_url: str, vendor: str, messages: tuple[Any, ...], options: dict[str, Any]
) -> None:
    """The same rules accept valid requests."""
    response = ask(vendor_url, vendor, *messages, **options)

    assert response.status_code == 200, response.text


@pytest.mark.parametrize(
    ("vendor", "missing", "wrong"),
    [
        ("minimax", "login fail: Please carry the API secret key", "invalid api key (2049)"),
        ("minimax-anthropic", "login fail: Please carry the API secret key", "invalid api key"),
        ("glm", "Authentication parameter not received", "token expired or incorrect"),
        ("qwen", "You didn't provide an API key.", "Incorrect API key provided."),
        ("kimi", "Invalid Authentication", "Invalid Authentication"),
        ("mistral", "Unauthorized", "Unauthorized"),
        ("relay", "No auth credentials found", "User not found."),
        ("deepseek-anthropic", "Authentication Fails", "Authentication Fails,"),
        ("anthropic-strict", "x-api-key header is required", "invalid x-api-key"),
    ],
)
def test_each_vendor_requires_a_key(vendor_url: str, vendor: str, missing: str, wrong: str) -> None:
    """A missing and a wrong key get 401 with the vendor's message."""
    wrong_key = {"authorization": "Bearer nope"}
    for headers, text in (({}, missing), (wrong_key, wrong)):
        response = post(vendor_url, vendor, json=build_request(vendor, USER), headers=headers)

        assert response.status_code == 401
        assert read_message(response).startswith(text)
