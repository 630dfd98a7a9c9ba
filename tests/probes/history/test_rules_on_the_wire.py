"""Single rules of the vendors, checked in the request."""

from __future__ import annotations

from dataclasses import replace

import pytest

from probes.dialects import override_dialect
from probes.history.model_conversation import SendOptions
from probes.messages import AUTO, JSON
from tests.probes.history.vendor_answers import (
    ANTHROPIC,
    DEEPSEEK,
    FOUR,
    GLM,
    KIMI,
    MINIMAX,
    MISTRAL,
    OPENAI,
    PLAIN,
    QWEN,
    QWEN_IDS,
    QWEN_PRESERVED,
)
from tests.probes.history.vendors import (
    QUESTION,
    Vendor,
    chat_messages,
    first_question,
    reasoning_fields,
    send,
    two_questions,
)


def test_mistral_gets_a_word_of_the_assistant_between_result_and_question() -> None:
    """It refuses a user turn after a tool turn; the others get no bridge."""
    for vendor, roles in ((MISTRAL, ["tool", "assistant", "user"]), (OPENAI, ["tool", "user"])):
        conversation = two_questions(vendor)
        conversation.add_user("Faster.")

        messages = send(conversation, vendor)["messages"]

        assert [message["role"] for message in messages][-len(roles) :] == roles
    assert send(two_questions(MISTRAL), MISTRAL)["messages"][-1]["role"] == "tool"


@pytest.mark.parametrize(
    ("vendor", "role"),
    [(OPENAI, "developer"), (DEEPSEEK, "system"), (MISTRAL, "system"), (PLAIN, "system")],
)
def test_a_developer_speaks_as_system_where_that_role_is_unknown(vendor: Vendor, role: str) -> None:
    """The request of a newer client works with any vendor."""
    body: JSON = {"model": "m", "messages": [{"role": "developer", "content": "Be brief."}]}
    conversation = first_question(vendor)
    conversation.turns[0] = vendor.adapter.read_request(body).turns[0]

    assert send(conversation, vendor)["messages"][0] == {"role": role, "content": "Be brief."}


@pytest.mark.parametrize("vendor", [DEEPSEEK, QWEN, KIMI])
def test_a_choice_is_forced_where_thinking_is_off(vendor: Vendor) -> None:
    """The switch and the choice are sent together."""
    body = send(two_questions(vendor), vendor, thinking=False)

    assert body["tool_choice"] == "required"
    assert vendor.dialect.thinking.off
    assert vendor.dialect.thinking.off.items() <= body.items()


def test_glm_streams_calls_only_where_it_is_asked_to() -> None:
    """And it accepts `auto`, which others refuse while thinking."""
    question = replace(QUESTION, stream=True, tool_choice=AUTO)

    body = send(two_questions(GLM), GLM, question)
    silent = send(two_questions(DEEPSEEK), DEEPSEEK, question)

    assert (body["stream"], body["tool_stream"], body["tool_choice"]) == (True, True, "auto")
    assert "tool_stream" not in silent
    assert "tool_choice" not in silent


def test_reasoning_that_was_never_received_is_absent_and_not_empty() -> None:
    """If a proxy strips the field, nothing can be replayed, and DeepSeek must not think."""
    conversation = two_questions(replace(DEEPSEEK, answers=OPENAI.answers))

    body = send(conversation, DEEPSEEK)

    assert all("reasoning_content" not in message for message in body["messages"])
    assert body["thinking"] == {"type": "disabled"}


def test_reasoning_between_tags_goes_back_where_it_stood() -> None:
    """MiniMax without reasoning_split requires its content completely preserved."""
    content = "<think>\nBoth.\n</think>\n\nI look."
    answers = [dict(answer) for answer in MINIMAX.answers if isinstance(answer, dict)]
    answers[2] = {"choices": [{"message": {"role": "assistant", "content": content}}]}
    conversation = two_questions(replace(MINIMAX, answers=tuple(answers)))

    assert send(conversation, MINIMAX)["messages"][7] == {"role": "assistant", "content": content}


def test_measured_rules_reach_the_wire() -> None:
    """An engine with the plain format that was measured to require the reasoning of all turns."""
    measured = override_dialect(PLAIN.dialect, {"reasoning_replay": "required_all_turns"})
    conversation = two_questions(PLAIN)

    call = conversation.to_call(QUESTION, SendOptions(measured, "plain")).call
    messages = PLAIN.adapter.write_request(call)["messages"]

    assert isinstance(messages, list)
    assert messages == chat_messages(QWEN_IDS, reasoning_fields(*FOUR, name="reasoning"))


@pytest.mark.parametrize("vendor", [DEEPSEEK, ANTHROPIC])
def test_the_switch_of_thinking_wins_over_what_a_client_asked_for(vendor: Vendor) -> None:
    """A forced choice and thinking are never sent together."""
    thinking: JSON = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
    question = replace(QUESTION, extra={vendor.format: thinking})

    body = send(two_questions(vendor), vendor, question, thinking=False)

    assert body["thinking"] == {"type": "disabled"}
    assert "tool_choice" in body


def test_an_engines_own_settings_stand_beside_the_switch() -> None:
    """chat_template_kwargs of the operator are extended, not replaced."""
    question = replace(QUESTION, options={"chat_template_kwargs": {"lang": "de"}})

    on = send(two_questions(QWEN_PRESERVED), QWEN_PRESERVED, question)
    off = send(two_questions(QWEN_PRESERVED), QWEN_PRESERVED, question, thinking=False)

    assert on["chat_template_kwargs"] == {"lang": "de", "preserve_thinking": True}
    assert off["chat_template_kwargs"] == {
        "lang": "de",
        "enable_thinking": False,
        "preserve_thinking": True,
    }


def test_openai_models_that_reason_get_the_newer_name_of_the_limit() -> None:
    """They refuse max_tokens, and tools with any effort but none."""
    vendor = Vendor("openai_reasoning", "openai", OPENAI.answers)

    body = send(two_questions(vendor), vendor)

    assert "max_tokens" not in body
    assert (body["max_completion_tokens"], body["reasoning_effort"]) == (64, "none")


def test_the_parallel_switch_goes_out_with_tools_only() -> None:
    """OpenAI refuses it otherwise."""
    question = replace(QUESTION, parallel=False)

    assert send(two_questions(OPENAI), OPENAI, question)["parallel_tool_calls"] is False
    bare = send(two_questions(OPENAI), OPENAI, replace(question, tools=(), tool_choice=None))
    assert "parallel_tool_calls" not in bare
    claude = send(two_questions(ANTHROPIC), ANTHROPIC, question)["tool_choice"]
    assert claude == {"type": "any", "disable_parallel_tool_use": True}
