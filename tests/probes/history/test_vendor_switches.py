"""A conversation that continues with another vendor gets what that vendor requires, uninvented."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from probes.history.call_closure import check_closure
from probes.history.model_conversation import Conversation
from probes.losses import LossKind
from probes.messages import JSON, Reasoning, Text, ToolCall, ToolResult
from tests.probes.history.sdk_shapes import accept
from tests.probes.history.vendor_answers import (
    ANTHROPIC,
    ANTHROPIC_BOUND,
    DEEPSEEK,
    DEEPSEEK_IDS,
    EVERYONE,
    FOUR,
    GEMINI,
    GEMINI_OLD,
    GLM,
    KIMI,
    KIMI_IDS,
    MINIMAX,
    MINIMAX_ANTHROPIC,
    MISTRAL,
    OLLAMA,
    OLLAMA_OLD,
    OPENAI,
    OPENAI_IDS,
    QWEN,
    RESPONSES,
    function_call,
    use,
)
from tests.probes.history.vendors import (
    OSLO,
    PARIS,
    QUESTION,
    ROME,
    Vendor,
    answer_calls,
    ask,
    chat,
    chat_messages,
    first_question,
    prepare,
    reasoning_fields,
    send,
    tool_call_entry,
    two_questions,
)

SENTINEL = "skip_thought_signature_validator"
PAIRS = [(a, b) for a, b in product(EVERYONE, EVERYONE) if a is not b]
NAMES = [f"{a.dialect_name}-{b.dialect_name}" for a, b in PAIRS]


def switched(old: Vendor, new: Vendor) -> Conversation:
    """A conversation whose second question goes to the new vendor."""
    conversation = first_question(old)
    conversation.add_user("And Oslo?")
    ask(new, conversation, new.answers[3])
    answer_calls(conversation, "7")
    return conversation


def wire_calls(vendor: Vendor, body: JSON) -> tuple[list[ToolCall], list[ToolResult]]:
    """Calls and results as the endpoint reads them."""
    turns = vendor.adapter.read_request(body).turns
    calls = [call for turn in turns for call in turn.calls]
    return calls, [result for turn in turns for result in turn.results]


@pytest.mark.parametrize(("old", "new"), PAIRS, ids=NAMES)
def test_every_switch_is_closed_and_of_the_new_vendors_form(old: Vendor, new: Vendor) -> None:
    """Read back by the endpoint: every call with its result, complete arguments, accepted ids."""
    body = send(switched(old, new), new)

    accept(new.format, body)
    request = new.adapter.read_request(body)
    calls, results = wire_calls(new, body)
    assert check_closure(request.turns) == []
    assert [(call.name, dict(call.input)) for call in calls] == [
        ("weather", json.loads(PARIS)),
        ("weather", json.loads(ROME)),
        ("clock", {}),
        ("weather", json.loads(OSLO)),
    ]
    by_call = {result.call_id: result.content.removeprefix("Error: ") for result in results}
    assert [by_call[call.id] for call in calls] == ["18", "no station", "noon", "7"]


@pytest.mark.parametrize(("old", "new"), PAIRS, ids=NAMES)
def test_no_switch_carries_what_only_the_old_vendor_understands(old: Vendor, new: Vendor) -> None:
    """The request has no signatures, encrypted reasoning or item ids of the old vendor."""
    text = json.dumps(send(switched(old, new), new))

    # The new vendor's own answer is the fourth.
    seals = {"Eq1", "Eq2", "Eq3", "EmwKAhgB", "CsA1", "CsA2", "CsA3", "gAAA1", "gAAA2", "gAAA3"}
    items = {f'"{kind}_{number}"' for kind in ("rs", "fc", "msg") for number in (1, 2, 3)}
    assert [seal for seal in seals | items if seal in text] == []


@pytest.mark.parametrize(("old", "new"), PAIRS, ids=NAMES)
def test_no_switch_invents_reasoning(old: Vendor, new: Vendor) -> None:
    """All reasoning that the endpoint reads was received verbatim in that turn."""
    conversation = switched(old, new)

    request = new.adapter.read_request(send(conversation, new)).turns

    assert _thoughts(request, len(FOUR)) <= _thoughts(conversation.turns, len(FOUR))


def _thoughts(turns: Sequence[Any], count: int) -> set[tuple[int, str]]:
    answers = [turn for turn in turns if turn.role == "assistant"]
    assert len(answers) == count
    return {
        (index, part.text)
        for index, turn in enumerate(answers)
        for part in turn.parts
        if isinstance(part, Reasoning)
    }


@pytest.mark.parametrize(("old", "new"), PAIRS, ids=NAMES)
def test_the_old_vendor_gets_its_own_back_whole(old: Vendor, new: Vendor) -> None:
    """A question to another vendor in between changes nothing."""
    conversation = two_questions(old)
    before = send(conversation, old)

    send(conversation, new)

    assert send(conversation, old) == before


def test_from_claude_to_deepseek_thoughts_go_on_as_text() -> None:
    """The text of a block is real reasoning; encrypted blocks and signatures are dropped."""
    conversation = switched(ANTHROPIC, DEEPSEEK)
    ids = ["toolu_01A", "toolu_01B", "toolu_01C", DEEPSEEK_IDS[3]]

    body = send(conversation, DEEPSEEK)

    assert body["messages"] == chat_messages(ids, reasoning_fields(*FOUR))
    assert "thinking" not in body


def test_from_openai_to_deepseek_it_must_not_think() -> None:
    """There is nothing to replay, and nothing is invented: absent, not empty."""
    body = send(switched(OPENAI, DEEPSEEK), DEEPSEEK)

    thoughts = [{}, {}, {}, {"reasoning_content": FOUR[3]}]
    assert body["messages"] == chat_messages([*OPENAI_IDS[:3], DEEPSEEK_IDS[3]], thoughts)
    assert body["thinking"] == {"type": "disabled"}
    assert body["tool_choice"] == "required"


def test_from_deepseek_to_claude_reasoning_stays_behind() -> None:
    """An unsigned block would be refused; ids that fit are kept."""
    messages = send(switched(DEEPSEEK, ANTHROPIC), ANTHROPIC)["messages"]

    assert messages[1]["content"] == [
        {"type": "text", "text": "I look."},
        use(DEEPSEEK_IDS[0], "weather", {"city": "Pâris"}),
        use(DEEPSEEK_IDS[1], "weather", {"city": "Rome"}),
    ]
    assert messages[7]["content"][0] == {
        "type": "thinking",
        "thinking": "Oslo, then.",
        "signature": "Eq4",
    }


def test_from_kimi_to_claude_ids_lose_their_dots_on_both_sides() -> None:
    """`functions.weather:0` violates Claude's pattern; call and result change together."""
    calls, results = wire_calls(ANTHROPIC, send(switched(KIMI, ANTHROPIC), ANTHROPIC))

    ids = ["functions_weather_0", "functions_weather_1", "functions_clock_2", "toolu_01D"]
    assert [call.id for call in calls] == ids
    assert {result.call_id for result in results} == set(ids)


def test_from_claude_to_kimi_calls_are_numbered_through_the_conversation() -> None:
    """In K2's own form, with its own later id unchanged."""
    calls, results = wire_calls(KIMI, send(switched(ANTHROPIC, KIMI), KIMI))

    assert [call.id for call in calls] == list(KIMI_IDS)
    assert {result.call_id for result in results} == set(KIMI_IDS)


@pytest.mark.parametrize("old", [ANTHROPIC, DEEPSEEK, KIMI, RESPONSES, GEMINI_OLD, OLLAMA_OLD])
def test_from_anyone_to_mistral_ids_have_nine_alphanumerics(old: Vendor) -> None:
    """The same ids on every later request, also after storage."""
    conversation = switched(old, MISTRAL)
    body = send(conversation, MISTRAL)
    stored = Conversation.from_json(json.loads(json.dumps(conversation.as_json())))

    calls, _ = wire_calls(MISTRAL, body)

    assert all(re.fullmatch("[a-zA-Z0-9]{9}", call.id) for call in calls)
    assert len({call.id for call in calls}) == 4
    assert not any("reasoning" in key for message in body["messages"] for key in message)
    assert send(stored, MISTRAL) == body


def test_from_responses_to_gemini_the_first_call_of_each_step_has_the_sentinel() -> None:
    """A real signature is never overwritten, and the second parallel call needs none."""
    contents = send(switched(RESPONSES, GEMINI), GEMINI)["contents"]

    one, two, three, _ = OPENAI_IDS
    assert contents[1]["parts"] == [
        {"text": "I look."},
        function_call("weather", {"city": "Pâris"}, one, SENTINEL),
        function_call("weather", {"city": "Rome"}, two),
    ]
    assert contents[3]["parts"] == [function_call("clock", {}, three, SENTINEL)]
    assert contents[5]["parts"] == [{"text": "18 at noon."}]
    assert contents[7]["parts"][0]["thoughtSignature"] == "CsA4"


def test_from_gemini_to_responses_items_stand_without_ids() -> None:
    """An id of ours would require a reasoning item that never existed."""
    items = send(switched(GEMINI, RESPONSES), RESPONSES)["input"]

    assert items[1:4] == [
        {"type": "message", "role": "assistant", "content": "I look."},
        {
            "type": "function_call",
            "call_id": "fc-8a1",
            "name": "weather",
            "arguments": PARIS,
        },
        {
            "type": "function_call",
            "call_id": "fc-8a2",
            "name": "weather",
            "arguments": ROME,
        },
    ]
    assert [item["id"] for item in items if "id" in item] == ["rs_4", "fc_4"]


def test_from_claude_to_another_claude_shape_blocks_stay_behind() -> None:
    """A signature binds a block to its backend, whatever the format."""
    for new in (MINIMAX_ANTHROPIC, ANTHROPIC_BOUND):
        conversation = switched(ANTHROPIC, new)
        content = [message["content"] for message in send(conversation, new)["messages"]]

        kinds = [[block["type"] for block in blocks] for blocks in (content[1], content[3])]
        assert kinds == [["text", "tool_use", "tool_use"], ["tool_use"]]
        assert content[5] == "18 at noon."


def test_from_deepseek_to_ollama_results_follow_the_calls() -> None:
    """Reasoning is renamed to the target's field, and old reasoning is dropped."""
    conversation = two_questions(DEEPSEEK)

    messages = send(conversation, OLLAMA)["messages"]

    assert [message.get("content") for message in messages[3:5]] == ["18", "Error: no station"]
    assert [message["thinking"] for message in messages if "thinking" in message] == [FOUR[3]]


def test_fields_of_another_vendor_of_the_same_format_stay_behind() -> None:
    """A signature in an OpenAI-shaped call is as foreign as one in Gemini's own format."""
    google: JSON = {"google": {"thought_signature": "SIG"}}
    calls: JSON = [tool_call_entry("a", "weather", PARIS, extra_content=google)]
    relay = Vendor("plain", "openai", chat({"content": None, "tool_calls": calls}))
    conversation = Conversation()
    conversation.add_user("Weather in Paris?")
    ask(relay, conversation, relay.answers[0])
    answer_calls(conversation, "18")

    own = send(conversation, relay)["messages"][1]["tool_calls"]
    prepared = prepare(conversation, MISTRAL)

    assert own == calls
    assert "SIG" not in json.dumps(MISTRAL.adapter.write_request(prepared.call))
    assert LossKind.SIGNATURE in [loss.kind for loss in prepared.losses]


def test_content_parts_that_only_one_vendor_writes_stay_behind() -> None:
    """A thinking part in Mistral's content is dropped for others."""
    thought: JSON = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    content: JSON = [thought, {"type": "text", "text": "Yes."}]
    conversation = Conversation()
    conversation.add_user("Is it?")
    ask(MISTRAL, conversation, chat({"content": content})[0])
    conversation.add_user("Sure?")

    assert send(conversation, MISTRAL)["messages"][1]["content"] == content
    assert send(conversation, OPENAI)["messages"][1]["content"] == "Yes."


def test_white_space_before_calls_is_not_sent_to_claude() -> None:
    """Open models write it, and Claude refuses blank text."""
    calls: JSON = [tool_call_entry("a", "weather", PARIS)]
    answers = chat({"content": "\n\n", "tool_calls": calls, "reasoning_content": "Hm."})
    conversation = Conversation()
    conversation.add_user("Weather in Paris?")
    ask(GLM, conversation, answers[0])
    answer_calls(conversation, "18")

    assert send(conversation, ANTHROPIC)["messages"][1]["content"] == [
        use("a", "weather", {"city": "Pâris"})
    ]
    assert send(conversation, GLM)["messages"][1]["content"] == "\n\n"


@pytest.mark.parametrize(("new", "longest"), [(OPENAI, 40), (RESPONSES, 64)])
def test_ids_that_are_too_long_are_minted_anew(new: Vendor, longest: int) -> None:
    """OpenAI refuses them; call and result still match."""
    ids = [f"codex_mcp__{'x' * 60}__{number}" for number in range(4)]
    calls: JSON = [tool_call_entry(id_, "weather", PARIS) for id_ in ids]
    conversation = Conversation()
    conversation.add_user("Weather in Paris?")
    ask(QWEN, conversation, chat({"content": None, "tool_calls": calls})[0])
    answer_calls(conversation, "0", "1", "2", "3")

    sent_calls, results = wire_calls(new, send(conversation, new))

    content = {result.call_id: result.content for result in results}
    assert [content[call.id] for call in sent_calls] == ["0", "1", "2", "3"]
    assert all(len(call.id) <= longest for call in sent_calls)


def test_calls_found_in_text_go_out_as_calls_and_never_as_markup() -> None:
    """Repaired calls and calls from text are sent as parsed JSON."""
    markup = "<tool_call>weather<arg_key>city</arg_key><arg_value>Rome</arg_value></tool_call>"
    conversation = Conversation()
    conversation.add_user("Weather in Rome?")
    reply = GLM.adapter.read_reply(chat({"content": "I look."})[0])
    call = ToolCall("call_1", "weather", {"city": "Rome"}, "glm", markup, ("text",))
    conversation.add_reply(replace(reply, parts=(Text("I look."), call)), "glm")
    answer_calls(conversation, "20")

    for vendor in (GLM, MINIMAX, RESPONSES, OLLAMA, GEMINI, ANTHROPIC):
        body = send(conversation, vendor)
        assert "arg_key" not in json.dumps(body)
        assert [dict(call.input) for call in wire_calls(vendor, body)[0]] == [{"city": "Rome"}]


def test_one_conversation_through_five_vendors_and_storage() -> None:
    """Each answer is kept as received, and each vendor gets what it requires."""
    conversation = Conversation()
    route = (KIMI, ANTHROPIC, GEMINI, RESPONSES, MINIMAX)
    for vendor in route:
        conversation.add_user("Weather?")
        send(conversation, vendor)
        ask(vendor, conversation, vendor.answers[0])
        answer_calls(conversation, "18", "!no station")
        conversation = Conversation.from_json(json.loads(json.dumps(conversation.as_json())))

    for vendor in (*route, MISTRAL, DEEPSEEK, OLLAMA):
        body = send(conversation, vendor)
        calls, results = wire_calls(vendor, body)
        accept(vendor.format, body)
        assert len({call.id for call in calls}) == 10
        assert {call.id for call in calls} == {result.call_id for result in results}
        assert body == send(conversation, vendor, QUESTION)
