from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletionToolParam

TOOL: ChatCompletionToolParam = {
    "type": "function",
    "function": {
        "name": "set_light",
        "description": "Switches a light.",
        "parameters": {
            "type": "object",
            "properties": {
                "room": {"type": "string"},
                "level": {"type": "integer"},
                "colour": {"type": "string", "enum": ["red", "green"]},
            },
        },
    },
}
PROMPT = 'Use set_light.\n- room: the "big" hall\n- level: 7\nMake it green, please.'


def client(url: str, key: str = "sim-sdk") -> openai.OpenAI:
    return openai.OpenAI(base_url=url, api_key=key, max_retries=0)


@pytest.fixture
def sdk(vendor_url: str) -> Iterator[openai.OpenAI]:
    with client(f"{vendor_url}/openai/v1") as connected:
        yield connected


def ask(sdk: openai.OpenAI, model: str = "sim-steady", **over: Any) -> Any:
    messages: Any = [{"role": "user", "content": PROMPT}]
    options: dict[str, Any] = {"messages": messages, "tools": [TOOL], **over}
    return sdk.chat.completions.create(model=model, **options)


def test_the_official_sdk_reads_the_call(sdk: openai.OpenAI) -> None:
    """The vendor calls an unknown tool from the prompt alone, in OpenAI's format."""
    completion = ask(sdk)

    choice = completion.choices[0]
    call = choice.message.tool_calls[0]
    assert choice.finish_reason == "tool_calls"
    assert call.function.name == "set_light"
    assert json.loads(call.function.arguments) == {
        "room": 'the "big" hall',
        "level": 7,
        "colour": "green",
    }
    assert call.id.startswith("call_")
    assert completion.usage.total_tokens > 0
    assert completion.system_fingerprint


def test_the_official_sdk_lists_the_models(sdk: openai.OpenAI) -> None:
    """Every simulated model is listed."""
    assert {model.id for model in sdk.models.list()} == {"sim-steady"}


def test_a_wrong_key_raises_the_sdks_own_error(vendor_url: str) -> None:
    """401 with OpenAI's envelope."""
    with (
        client(f"{vendor_url}/openai/v1", "wrong-key-1234567") as sdk,
        pytest.raises(openai.AuthenticationError, match="Incorrect API key") as caught,
    ):
        ask(sdk)

    assert caught.value.code == "invalid_api_key"


def test_an_unknown_model_raises_the_sdks_own_error(sdk: openai.OpenAI) -> None:
    """404 with OpenAI's text."""
    with pytest.raises(openai.NotFoundError, match="does not exist") as caught:
        ask(sdk, "gpt-nope")

    assert caught.value.code == "model_not_found"


def test_the_open_vendor_needs_no_key(vendor_url: str) -> None:
    """Local servers accept any key."""
    with client(f"{vendor_url}/open/v1", "anything") as sdk:
        assert ask(sdk).choices[0].message.tool_calls


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ({"extra_body": {"frobnicate": 1}}, "Unknown parameter: 'frobnicate'"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "Invalid value: 'robot'"),
        ({"messages": []}, "Invalid type for 'messages'"),
        ({"tools": [], "tool_choice": "auto"}, "Invalid type for 'tools'"),
        ({"tools": openai.omit, "tool_choice": "auto"}, "only allowed when 'tools'"),
        ({"tools": [{"type": "function", "function": {"name": "a.b"}}]}, "does not match pattern"),
        ({"tool_choice": "sometimes"}, "Invalid value for 'tool_choice'"),
    ],
)
def test_a_request_that_openai_refuses_is_refused(
    sdk: openai.OpenAI, over: dict[str, Any], message: str
) -> None:
    """The vendor is as strict as the real one."""
    with pytest.raises(openai.BadRequestError, match=message):
        ask(sdk, **over)


def test_a_forbidden_tool_is_not_called(sdk: openai.OpenAI) -> None:
    """tool_choice none gives text."""
    choice = ask(sdk, tool_choice="none").choices[0]

    assert choice.finish_reason == "stop"
    assert choice.message.tool_calls is None
