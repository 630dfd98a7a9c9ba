from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from simulators.faults.refusals import request_refusals
from tests.simulators.raw_requests import (
    CLAUDE_TOOLS,
    FUNCTION,
    TOOLS,
    USER,
    chat,
    classify_refusal,
    error_message,
    post,
)

NAMED = {"type": "function", "function": {"name": "f"}}
SERDE = "Failed to deserialize the JSON body into the target type: "
Case = tuple[str, str, dict[str, Any], str, str]

# Switches, vendor, request, the whole message, and the kind of refusal.
REFUSED: list[Case] = [
    (
        "forced-choice-refused",
        "openai",
        chat(USER, **TOOLS, tool_choice="required"),
        "Tool choice must be auto",
        "forced_choice",
    ),
    (
        "forced-choice-refused,value=0",
        "openai",
        chat(USER, **TOOLS, tool_choice="none"),
        "Tool choice must be auto",
        "forced_choice",
    ),
    (
        "forced-choice-refused,value=1",
        "openai",
        chat(USER, **TOOLS, tool_choice="required"),
        "Thinking mode does not support this tool_choice",
        "forced_choice",
    ),
    (
        "forced-choice-refused,value=2",
        "openai",
        chat(USER, **TOOLS, tool_choice=NAMED),
        "tool_choice 'specified' is incompatible with thinking enabled",
        "forced_choice",
    ),
    (
        "forced-choice-refused,value=3",
        "openai",
        chat(USER, **TOOLS, tool_choice="required"),
        "<400> InternalError.Algo.InvalidParameter: The tool_choice parameter does not support "
        "being set to required or object in thinking mode",
        "forced_choice",
    ),
    (
        "forced-choice-refused",
        "anthropic",
        chat(USER, **CLAUDE_TOOLS, tool_choice={"type": "any"}),
        'tool_choice: type "tool" and "any" are not supported for this model.',
        "forced_choice",
    ),
    (
        "no-developer-role",
        "openai",
        chat(USER, {"role": "developer", "content": "d"}),
        f"{SERDE}messages[1].role: unknown variant `developer`, expected one of `system`, `user`, "
        "`assistant`, `tool`, `latest_reminder` at line 1 column 84",
        "role_refused",
    ),
    (
        "function-tools-only",
        "openai",
        chat(USER, tools=[FUNCTION, {"type": "namespace"}]),
        f"{SERDE}tools[1].type: unknown variant `namespace`, expected `function` at line 1 column "
        "169",
        "schema_refused",
    ),
    (
        "no-tools",
        "ollama",
        chat(USER, **TOOLS),
        "registry.ollama.ai/library/sim-steady:latest does not support tools",
        "no_tools",
    ),
    (
        "no-tools",
        "vllm",
        chat(USER, **TOOLS),
        "registry.ollama.ai/library/sim-steady does not support tools",
        "no_tools",
    ),
    (
        "vllm-no-auto",
        "vllm",
        chat(USER, **TOOLS),
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
        "no_tools",
    ),
    (
        "effort-refused",
        "openai",
        chat(USER, reasoning_effort="xhigh"),
        f"{SERDE}reasoning_effort: unknown variant `xhigh`, expected one of `none`, `minimal`, "
        "`low`, `medium`, `high` at line 1 column 92",
        "provider_error",
    ),
    (
        "endpoint-mismatch",
        "openai",
        chat(USER, **TOOLS),
        "Function tools with reasoning_effort are not supported for sim-steady in "
        "/v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to "
        "'none'.",
        "endpoint_mismatch",
    ),
    (
        "empty-schema-refused",
        "openai",
        chat(USER, tools=[{"type": "function", "function": {"name": "f"}}]),
        "invalid params, function parameters is empty (2013)",
        "schema_refused",
    ),
    ("unknown-parameter", "vllm", chat(USER, x=1), "Unknown parameter: 'x'.", "param_unknown"),
    (
        "unknown-parameter",
        "openai_responses",
        {"input": "hi", "x": 1},
        "Unknown parameter: 'x'.",
        "param_unknown",
    ),
    (
        "unknown-parameter",
        "anthropic",
        chat(USER, x=1),
        "x: Extra inputs are not permitted",
        "param_unknown",
    ),
]
# The most similar requests that the same switches accept.
ACCEPTED: list[tuple[str, str, dict[str, Any]]] = [
    ("forced-choice-refused", "openai", chat(USER, **TOOLS, tool_choice="auto")),
    ("forced-choice-refused,value=1", "openai", chat(USER, **TOOLS, tool_choice="none")),
    ("forced-choice-refused", "anthropic", chat(USER, **CLAUDE_TOOLS)),
    ("no-developer-role", "openai", chat({"role": "system", "content": "d"}, USER)),
    ("function-tools-only", "openai", chat(USER, **TOOLS)),
    ("no-tools", "ollama", chat(USER)),
    ("vllm-no-auto", "vllm", chat(USER, **TOOLS, tool_choice="none")),
    ("effort-refused", "openai", chat(USER, reasoning_effort="high")),
    ("endpoint-mismatch", "openai", chat(USER, **TOOLS, reasoning_effort="none")),
    ("empty-schema-refused", "openai", chat(USER, **TOOLS)),
    ("unknown-parameter", "vllm", chat(USER, temperature=0)),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: f"{case[0]}-{case[1]}")
def test_a_request_is_refused_with_the_vendors_message(vendor_url: str, case: Case) -> None:
    """The vendor's envelope has the whole message, and our classifier recognises it."""
    switches, vendor, body, text, kind = case
    answer = post(vendor_url, switches, vendor, body)

    assert (answer.status_code, error_message(answer)) == (400, text)
    assert classify_refusal(vendor, answer) == kind


@pytest.mark.parametrize(("switches", "vendor", "body"), ACCEPTED)
def test_a_similar_valid_request_is_accepted(
    vendor_url: str, switches: str, vendor: str, body: dict[str, Any]
) -> None:
    """A refusal applies only to its own reason."""
    answer = post(vendor_url, switches, vendor, body)

    assert answer.status_code == 200, answer.text


def test_every_refusal_is_covered() -> None:
    """Every fault of the family is covered here."""
    names = {fault.name for fault in request_refusals.FAULTS}

    covered = {switches.partition(",")[0] for switches, *_ in REFUSED}
    assert covered | {"relay-wrapped"} == names


@pytest.mark.parametrize(
    ("switches", "param", "code"),
    [
        ("endpoint-mismatch", "reasoning_effort", None),
        ("forced-choice-refused,value=1", None, "invalid_request_error"),
        ("forced-choice-refused,value=3", None, "invalid_parameter_error"),
    ],
)
def test_an_error_names_its_parameter_or_code(
    vendor_url: str, switches: str, param: str | None, code: str | None
) -> None:
    """The fields next to the message are those of the real vendor."""
    body = chat(USER, **TOOLS, tool_choice="required")
    error = post(vendor_url, switches, "openai", body).json()["error"]

    assert (error["type"], error["param"], error["code"]) == ("invalid_request_error", param, code)


GLM = "Tool choice must be auto"


def ask_wrapped(url: str, value: int) -> httpx.Response:
    switches = f"forced-choice-refused+relay-wrapped,value={value}"
    return post(url, switches, "vllm", chat(USER, **TOOLS, tool_choice="required"))


def test_openrouter_adds_the_vendors_body_to_its_own_message(vendor_url: str) -> None:
    """The metadata contains the raw body as text."""
    error = ask_wrapped(vendor_url, 0).json()["error"]

    assert (error["message"], error["code"]) == ("Provider returned error", 400)
    assert error["metadata"]["provider_name"] == "vLLM"
    assert json.loads(error["metadata"]["raw"])["error"]["message"] == GLM


@pytest.mark.parametrize(
    ("value", "begins"),
    [
        (1, f"Error from provider (vLLM): {GLM}"),
        (2, 'litellm.BadRequestError: VllmException - {"error": {"message": "Tool choice'),
        (3, '[vllm/sim-steady] [400]: {"error": {"message": "Tool choice'),
    ],
)
def test_a_relay_wraps_the_vendors_message_in_its_own(
    vendor_url: str, value: int, begins: str
) -> None:
    """The relay's message contains the vendor's message or its whole body."""
    assert error_message(ask_wrapped(vendor_url, value)).startswith(begins)


@pytest.mark.parametrize("value", range(4))
def test_our_classifier_sees_through_a_relay(vendor_url: str, value: int) -> None:
    """Our classifier recognises the vendor's refusal behind every relay."""
    assert classify_refusal("vllm", ask_wrapped(vendor_url, value)) == "forced_choice"


@pytest.mark.parametrize("switches", ["relay-wrapped,value=4", "forced-choice-refused,value=1.5"])
def test_an_invalid_value_is_refused(vendor_url: str, switches: str) -> None:
    """The error lists the values that are allowed."""
    answer = post(vendor_url, switches, "vllm", chat(USER))

    assert answer.status_code == 404
    assert "takes a value from 0 to 3" in error_message(answer)


@pytest.mark.parametrize(
    ("switches", "vendor", "field", "value"),
    [
        ("forced-choice-refused", "openai", "tool_choice", ["auto"]),
        ("forced-choice-refused,value=1", "openai", "tool_choice", ["auto", "none"]),
        ("forced-choice-refused", "anthropic", "tool_choice", ["auto", "none"]),
        ("forced-choice-refused", "gemini", "tool_choice", ["auto", "none", "required", "named"]),
        ("no-tools", "openai", "tool_call_format", "none"),
        ("no-tools", "anthropic", "tool_call_format", "anthropic"),
        ("vllm-no-auto", "vllm", "tool_call_format", "none"),
        ("endpoint-mismatch", "openai", "tool_call_format", "none"),
    ],
)
def test_the_truth_names_the_accepted_requests(
    vendor_url: str, switches: str, vendor: str, field: str, value: Any
) -> None:
    """The truth about a vendor changes only in formats that the fault affects."""
    address = f"{vendor_url}/with/{switches}/_truth/{vendor}"

    assert httpx.get(address, trust_env=False).json()["capabilities"][field] == value
