"""From a received reply, through the history and a dialect, to the exact next request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from probes.messages import JSON
from tests.probes.history.vendor_answers import (
    ANTHROPIC,
    ANTHROPIC_BOUND,
    BLOCKS,
    DEEPSEEK,
    DEEPSEEK_IDS,
    DEEPSEEK_V32,
    FOUR,
    GEMINI,
    GEMINI_OLD,
    GEMINI_PARTS,
    GLM,
    GLM_PRESERVED,
    KIMI,
    KIMI_IDS,
    KIMI_K3,
    MINIMAX,
    MINIMAX_IDS,
    MINIMAX_THOUGHTS,
    MISTRAL,
    MISTRAL_IDS,
    NONE,
    OLLAMA,
    OLLAMA_IDS,
    OLLAMA_OLD,
    OPENAI,
    OPENAI_IDS,
    PLAIN,
    QWEN,
    QWEN_IDS,
    QWEN_PRESERVED,
    RESPONSES,
    call_item,
    function_call,
    local_call,
    message_item,
    reasoning_item,
)
from tests.probes.history.vendors import (
    CITY,
    EMPTY,
    QUESTION,
    Vendor,
    answer_calls,
    ask,
    chat_messages,
    chat_tools,
    first_question,
    reasoning_fields,
    send,
    two_questions,
)

FORCED: dict[str, JSON] = {"tool_choice": "required"}
ALL = reasoning_fields(*FOUR)
# Only the reasoning since the last question.
CURRENT = [{}, {}, {}, ALL[3]]

CHAT_VENDORS: list[tuple[Vendor, Sequence[str], Sequence[Mapping[str, JSON]], dict[str, JSON]]] = [
    # Neither sent nor accepted back.
    (OPENAI, OPENAI_IDS, NONE, FORCED),
    # On every assistant message, "" included; no tool_choice while it thinks.
    (DEEPSEEK, DEEPSEEK_IDS, ALL, {}),
    (DEEPSEEK_V32, DEEPSEEK_IDS, CURRENT, {}),
    # The array as received, on every message, and asked for again.
    (MINIMAX, MINIMAX_IDS, MINIMAX_THOUGHTS, {**FORCED, "reasoning_split": True}),
    # Anything but auto is refused.
    (GLM, QWEN_IDS, CURRENT, {}),
    (GLM_PRESERVED, QWEN_IDS, ALL, {}),
    # Thinks by default, and then accepts no forced choice.
    (QWEN, QWEN_IDS, CURRENT, {}),
    (QWEN_PRESERVED, QWEN_IDS, ALL, {"chat_template_kwargs": {"preserve_thinking": True}}),
    (KIMI, KIMI_IDS, ALL, {}),
    (KIMI_K3, KIMI_IDS, ALL, FORCED),
    (MISTRAL, MISTRAL_IDS, NONE, FORCED),
    (PLAIN, QWEN_IDS, [{}, {}, {}, {"reasoning": FOUR[3]}], FORCED),
]


@pytest.mark.parametrize(
    ("vendor", "ids", "thoughts", "more"),
    CHAT_VENDORS,
    ids=[entry[0].dialect_name for entry in CHAT_VENDORS],
)
def test_chat_completions_as_each_vendor_demands_it(
    vendor: Vendor,
    ids: Sequence[str],
    thoughts: Sequence[Mapping[str, JSON]],
    more: Mapping[str, JSON],
) -> None:
    """The whole body: own ids, reasoning verbatim or absent, results with their calls."""
    assert send(two_questions(vendor), vendor) == {
        "model": "m",
        "max_tokens": 64,
        "messages": chat_messages(ids, thoughts),
        "tools": chat_tools(),
        **more,
    }


def test_anthropic_gets_its_blocks_unchanged_and_results_in_one_message() -> None:
    """Signed and redacted blocks keep their place; results come first in the next turn."""
    assert send(two_questions(ANTHROPIC), ANTHROPIC, thinking=True) == {
        "model": "m",
        "max_tokens": 64,
        "thinking": {"type": "adaptive"},
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": "Weather in Paris and Rome?"},
            {"role": "assistant", "content": [*BLOCKS[0]]},
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_01B",
                        "content": "no station",
                        "is_error": True,
                    },
                    {"type": "tool_result", "tool_use_id": "toolu_01A", "content": "18"},
                ],
            },
            {"role": "assistant", "content": [*BLOCKS[1]]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "toolu_01C", "content": "noon"}],
            },
            {"role": "assistant", "content": [*BLOCKS[2]]},
            {"role": "user", "content": "And Oslo?"},
            {"role": "assistant", "content": [*BLOCKS[3]]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "toolu_01D", "content": "7"}],
            },
        ],
        "tools": [
            {"name": "weather", "description": "Weather of a city.", "input_schema": CITY},
            {"name": "clock", "description": "The time.", "input_schema": EMPTY},
        ],
    }


@pytest.mark.parametrize(
    "thinking", [{"type": "adaptive"}, {"type": "enabled", "budget_tokens": 1024}]
)
def test_anthropic_is_not_forced_while_it_thinks(thinking: JSON) -> None:
    """However thinking was requested; without it the choice is sent."""
    question = replace(QUESTION, options={"thinking": thinking})

    assert "tool_choice" not in send(two_questions(ANTHROPIC), ANTHROPIC, question)
    assert send(two_questions(ANTHROPIC), ANTHROPIC)["tool_choice"] == {"type": "any"}
    assert "tool_choice" not in send(two_questions(ANTHROPIC_BOUND), ANTHROPIC_BOUND)


def test_anthropic_gets_results_before_what_the_user_said_meanwhile() -> None:
    """A question right after results is in the same message, after them."""
    conversation = first_question(ANTHROPIC)
    ask(ANTHROPIC, conversation, ANTHROPIC.answers[3])
    answer_calls(conversation, "7")
    conversation.add_user("Faster.")

    last = send(conversation, ANTHROPIC)["messages"][-1]

    assert last["role"] == "user"
    assert [block["type"] for block in last["content"]] == ["tool_result", "text"]


def test_responses_gets_every_reasoning_item_before_the_item_it_led_to() -> None:
    """Items unchanged, ids and encrypted content included; outputs by call_id."""
    one, two, three, four = OPENAI_IDS

    body = send(two_questions(RESPONSES), RESPONSES)

    assert body == {
        "model": "m",
        "max_output_tokens": 64,
        "instructions": "Be brief.",
        "input": [
            {"type": "message", "role": "user", "content": "Weather in Paris and Rome?"},
            reasoning_item(1),
            _sent_message(1, "I look."),
            call_item(1, one, "weather", '{"city": "Pâris"}'),
            call_item(2, two, "weather", '{"city": "Rome"}'),
            {"type": "function_call_output", "call_id": two, "output": "Error: no station"},
            {"type": "function_call_output", "call_id": one, "output": "18"},
            reasoning_item(2),
            call_item(3, three, "clock", "{}"),
            {"type": "function_call_output", "call_id": three, "output": "noon"},
            reasoning_item(3),
            _sent_message(2, "18 at noon."),
            {"type": "message", "role": "user", "content": "And Oslo?"},
            reasoning_item(4),
            call_item(4, four, "weather", '{"city": "Oslo"}'),
            {"type": "function_call_output", "call_id": four, "output": "7"},
        ],
        "tools": [
            {
                "type": "function",
                "name": "weather",
                "description": "Weather of a city.",
                "parameters": CITY,
            },
            {
                "type": "function",
                "name": "clock",
                "description": "The time.",
                "parameters": EMPTY,
            },
        ],
        "tool_choice": "required",
    }


def _sent_message(number: int, text: str) -> dict[str, JSON]:
    content: JSON = [{"type": "output_text", "text": text}]
    return message_item(number, text) | {"content": content}


def test_gemini_gets_each_signature_on_the_part_it_came_with() -> None:
    """One content for the results of a step, each with name and id; an error under its key."""
    one, two, three, four = GEMINI_PARTS

    assert send(two_questions(GEMINI), GEMINI) == {
        "generationConfig": {"maxOutputTokens": 64},
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "Weather in Paris and Rome?"}]},
            {"role": "model", "parts": one},
            {
                "role": "user",
                "parts": [
                    _response("weather", {"output": "18"}, "fc-8a1"),
                    _response("weather", {"error": "no station"}, "fc-8a2"),
                ],
            },
            {"role": "model", "parts": two},
            {"role": "user", "parts": [_response("clock", {"output": "noon"}, "fc-8a3")]},
            {"role": "model", "parts": three},
            {"role": "user", "parts": [{"text": "And Oslo?"}]},
            {"role": "model", "parts": four},
            {"role": "user", "parts": [_response("weather", {"output": "7"}, "fc-8a4")]},
        ],
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "weather",
                        "description": "Weather of a city.",
                        "parametersJsonSchema": CITY,
                    },
                    {"name": "clock", "description": "The time."},
                ]
            }
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
    }


def test_gemini_without_ids_gets_results_in_the_order_of_its_calls() -> None:
    """By name alone, the results of two calls of one tool could not be distinguished."""
    contents = send(two_questions(GEMINI_OLD), GEMINI_OLD)["contents"]

    assert contents[1]["parts"] == [
        function_call("weather", {"city": "Pâris"}),
        function_call("weather", {"city": "Rome"}),
    ]
    assert contents[2]["parts"] == [
        _response("weather", {"output": "18"}),
        _response("weather", {"error": "no station"}),
    ]


def _response(name: str, response: Mapping[str, JSON], id_: str = "") -> dict[str, JSON]:
    body: dict[str, JSON] = {"name": name, "response": response}
    return {"functionResponse": body | ({"id": id_} if id_ else {})}


@pytest.mark.parametrize(("vendor", "ids"), [(OLLAMA, OLLAMA_IDS), (OLLAMA_OLD, ("", "", "", ""))])
def test_ollama_gets_objects_and_results_in_call_order(vendor: Vendor, ids: Sequence[str]) -> None:
    """Reasoning only since the last question; ids only where it sent some."""
    assert send(two_questions(vendor), vendor) == {
        "model": "m",
        "stream": False,
        "options": {"num_predict": 64},
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Weather in Paris and Rome?"},
            {
                "role": "assistant",
                "content": "I look.",
                "tool_calls": [
                    local_call("weather", {"city": "Pâris"}, ids[0]),
                    local_call("weather", {"city": "Rome"}, ids[1]),
                ],
            },
            _local_result("weather", "18", ids[0]),
            _local_result("weather", "Error: no station", ids[1]),
            {"role": "assistant", "content": "", "tool_calls": [local_call("clock", {}, ids[2])]},
            _local_result("clock", "noon", ids[2]),
            {"role": "assistant", "content": "18 at noon."},
            {"role": "user", "content": "And Oslo?"},
            {
                "role": "assistant",
                "content": "",
                "thinking": "Oslo, then.",
                "tool_calls": [local_call("weather", {"city": "Oslo"}, ids[3])],
            },
            _local_result("weather", "7", ids[3]),
        ],
        "tools": chat_tools(),
    }


def _local_result(name: str, content: str, id_: str) -> dict[str, JSON]:
    message: dict[str, JSON] = {"role": "tool", "content": content, "tool_name": name}
    return message | ({"tool_call_id": id_} if id_ else {})
