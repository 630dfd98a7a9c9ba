from __future__ import annotations

from typing import Any

import openai
import pytest

from probes.messages import ToolSpec
from probes.text_answer import read_text_answer
from tests.simulators.conversation import FIRST, PROMPT, TOOLS
from tests.simulators.sdk_conversations import (
    SdkOptions,
    chat_message,
    chat_tools,
    converse_by_chat,
    converse_by_gemini,
    converse_by_messages,
    converse_by_ollama,
    converse_by_responses,
)

both_ways = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
THINKING_OFF = {"thinking": {"type": "disabled"}}
SPLIT = {"reasoning_split": True}
TEMPLATE_THINKS = {"chat_template_kwargs": {"enable_thinking": True}}
TEMPLATE_THINKS_NOT = {"chat_template_kwargs": {"enable_thinking": False}}
# Path, model, extra fields of the request, and whether the answer shows reasoning.
CHATTING: list[tuple[str, str, dict[str, Any], bool]] = [
    ("/openai/v1", "sim-steady", {}, False),
    ("/open/v1", "sim-steady", {}, False),
    ("/mistral/v1", "sim-large", {}, False),
    ("/deepseek/v1", "sim-v4", {}, True),
    ("/deepseek/v1", "sim-v4", THINKING_OFF, False),
    ("/deepseek/v1", "sim-v3.2-reasoner", {}, True),
    ("/deepseek/v1", "sim-v3.2-chat", {}, False),
    ("/minimax/v1", "sim-m2", {}, True),
    ("/minimax/v1", "sim-m2", SPLIT, True),
    ("/glm/api/paas/v4", "sim-4.7", {}, True),
    ("/glm/api/paas/v4", "sim-4.7", THINKING_OFF, False),
    ("/glm/api/paas/v4", "sim-5.3", THINKING_OFF, True),
    ("/qwen/v1", "sim-max", {}, True),
    ("/qwen/v1", "sim-max", {"enable_thinking": False}, False),
    ("/qwen/v1", "sim-coder", {"enable_thinking": True}, False),
    ("/kimi/v1", "sim-k2.6", {}, True),
    ("/kimi/v1", "sim-k2.6", THINKING_OFF, False),
    ("/relay/v1", "sim-auto", {}, False),
    ("/relay/v1", "sim-auto", {"reasoning": {"effort": "low"}}, True),
    ("/llamacpp/v1", "any.gguf", {}, False),
    ("/llamacpp/v1", "any.gguf", TEMPLATE_THINKS, True),
    ("/vllm/v1", "sim-steady", {}, False),
    ("/vllm/v1", "sim-steady", TEMPLATE_THINKS, True),
    ("/qwen-hermes/v1", "sim-steady", {}, True),
    ("/qwen-hermes/v1", "sim-steady", TEMPLATE_THINKS_NOT, False),
]


@both_ways
@pytest.mark.parametrize("chatting", CHATTING, ids=str)
def test_the_openai_sdk_holds_a_conversation(
    vendor_url: str, chatting: tuple[str, str, dict[str, Any], bool], streamed: bool
) -> None:
    """Chat Completions: parallel calls, an error result, a corrected call, an answer."""
    path, model, more, thinks = chatting
    options = SdkOptions(vendor_url + path, model, streamed=streamed, more=more)
    converse_by_chat(options).check(thinks=thinks)


@both_ways
@pytest.mark.parametrize(
    ("path", "model"), [("/vllm-bare/v1", "sim-steady"), ("/qwen-xml/v1", "sim-coder")]
)
def test_the_calls_of_a_server_that_leaks_are_in_its_text(
    vendor_url: str, path: str, model: str, streamed: bool
) -> None:
    """The SDK sees no calls; our text reader recovers all of them."""
    options = {"model": model, "messages": [{"role": "user", "content": PROMPT}]}
    with openai.OpenAI(base_url=vendor_url + path, api_key="none", max_retries=0) as sdk:
        message = chat_message(sdk, {**options, "tools": chat_tools()}, streamed=streamed)

    schemas: dict[str, Any] = TOOLS
    specs = [ToolSpec(name, "", schema) for name, schema in schemas.items()]
    answer = read_text_answer([message.content], specs)

    assert not message.tool_calls
    assert [(call.name, dict(call.input)) for call in answer.calls] == FIRST
    assert answer.text is None


@both_ways
@pytest.mark.parametrize("effort", ["none", "low"])
@pytest.mark.parametrize("vendor", ["responses", "llamacpp-responses"])
def test_the_openai_sdk_converses_over_responses(
    vendor_url: str, vendor: str, effort: str, streamed: bool
) -> None:
    """Responses: every item is replayed unchanged, reasoning included."""
    more = {"reasoning": {"effort": effort}}
    url = f"{vendor_url}/{vendor}/v1"
    options = SdkOptions(url, "sim-steady", streamed=streamed, more=more)
    converse_by_responses(options).check(thinks=effort == "low")


ENABLED = {"thinking": {"type": "enabled", "budget_tokens": 2000}}
ADAPTIVE = {"thinking": {"type": "adaptive"}}


MESSAGING: list[tuple[str, str, dict[str, Any], bool]] = [
    ("/anthropic", "sim-steady", {}, False),
    ("/anthropic", "sim-steady", ENABLED, True),
    ("/anthropic-strict", "sim-opus-5.5", {}, True),
    ("/anthropic-strict", "sim-opus-5.5", ADAPTIVE, True),
    ("/minimax/anthropic", "sim-m2", {}, True),
    ("/deepseek/anthropic", "sim-v4", {}, True),
    ("/deepseek/anthropic", "sim-v4", THINKING_OFF, False),
    ("/llamacpp-messages", "any.gguf", {}, False),
    ("/llamacpp-messages", "any.gguf", ENABLED, True),
]


@both_ways
@pytest.mark.parametrize("messaging", MESSAGING, ids=str)
def test_the_anthropic_sdk_holds_a_conversation(
    vendor_url: str, messaging: tuple[str, str, dict[str, Any], bool], streamed: bool
) -> None:
    """Messages: blocks are replayed unchanged, signed thinking included."""
    path, model, more, thinks = messaging
    options = SdkOptions(vendor_url + path, model, streamed=streamed, more=more)
    converse_by_messages(options).check(thinks=thinks)


@both_ways
@pytest.mark.parametrize("thinks", [False, True])
@pytest.mark.parametrize("model", ["sim-gemini-3", "sim-gemini-2.5"])
def test_the_google_sdk_holds_a_conversation(
    vendor_url: str, model: str, thinks: bool, streamed: bool
) -> None:
    """generateContent: parts are replayed unchanged, signatures included."""
    more = {"thinking_config": {"include_thoughts": thinks}}
    options = SdkOptions(f"{vendor_url}/gemini", model, streamed=streamed, more=more)
    converse_by_gemini(options).check(thinks=thinks)


@both_ways
@pytest.mark.parametrize("think", [False, True])
def test_the_ollama_sdk_holds_a_conversation(vendor_url: str, think: bool, streamed: bool) -> None:
    """/api/chat: whole calls in lines, results by tool name."""
    url = f"{vendor_url}/ollama"
    options = SdkOptions(url, "sim-steady", streamed=streamed, more={"think": think})
    converse_by_ollama(options).check(thinks=think)
