"""OpenAI's own client reads what we write and sends what we read, over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from openai import OpenAI

from probes.adapters.base import write_event_stream
from probes.adapters.openai_responses.adapter import OpenAIResponsesAdapter
from probes.messages import (
    Reasoning,
    ReasoningKind,
    Reply,
    Role,
    Stop,
    Text,
    ToolCall,
    ToolChoice,
    Usage,
)
from probes.streams.assembler import reply_events
from tests.probes.adapters.loopback import Loopback

RESPONSES = OpenAIResponsesAdapter()
THOUGHT: Any = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Hm."}],
    "encrypted_content": "gAAAA",
}
REPLY = Reply(
    (
        Reasoning("Hm.", ReasoningKind.ITEM, THOUGHT),
        Text("Looking."),
        ToolCall("c1", "f", {"a": 1}, "openai_responses", '{"a":1}'),
        ToolCall("c2", "g", {"é": "😀"}, "hermes", "<x>", repairs=("fence",)),
    ),
    Stop.TOOL_CALLS,
    Usage(9, 7, 3, 4),
    id="resp_1",
    model="m",
)
CALLS = [("c1", "f", '{"a":1}'), ("c2", "g", '{"é": "😀"}')]


@pytest.fixture
def client(loopback: Loopback) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{loopback.url}/v1", api_key="sim-1", max_retries=0) as sdk:
        yield sdk


def check(response: Any) -> None:
    thought, message, *calls = response.output
    assert (thought.type, thought.encrypted_content) == ("reasoning", "gAAAA")
    assert (message.type, response.output_text) == ("message", "Looking.")
    assert [(call.call_id, call.name, call.arguments) for call in calls] == CALLS
    assert (response.status, response.usage.output_tokens_details.reasoning_tokens) == (
        "completed",
        3,
    )


def test_the_client_reads_a_whole_answer(loopback: Loopback, client: OpenAI) -> None:
    """Reasoning item, text, parallel calls, status and usage arrive."""
    loopback.answer_json(RESPONSES.write_reply(REPLY))

    check(client.responses.create(model="m", input="Hi"))


def test_the_client_assembles_a_streamed_answer(loopback: Loopback, client: OpenAI) -> None:
    """Its own accumulator reads every event and ends with the same response."""
    loopback.answer_stream(write_event_stream(RESPONSES, reply_events(REPLY)))

    with client.responses.stream(model="m", input="Hi") as stream:
        events = list(stream)
        response = stream.get_final_response()

    outputs: list[Any] = list(response.output)
    check(response)
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert [event.delta for event in events if event.type == "response.output_text.delta"] == [
        "Looking."
    ]
    done: list[Any] = [event.item for event in events if event.type == "response.output_item.done"]
    assert [item.id for item in done] == [item.id for item in outputs]


def test_a_failed_answer_is_seen_as_failed(loopback: Loopback, client: OpenAI) -> None:
    """The last event reports the failure; no completed response follows."""
    broken = Reply((Text("Loo"),), Stop.ERROR, id="resp_1", model="m")
    loopback.answer_stream(write_event_stream(RESPONSES, reply_events(broken)))

    events = list(client.responses.create(model="m", input="Hi", stream=True))

    assert events[-1].type == "response.failed"
    assert events[-1].response.error is not None


def test_what_the_client_sends_is_read_and_written_again(
    loopback: Loopback, client: OpenAI
) -> None:
    """Items of an answer, returned by the client with results, in both directions."""
    loopback.answer_json(RESPONSES.write_reply(REPLY))
    response = client.responses.create(model="m", input="Hi")
    items: Any = [item.model_dump(exclude_none=True, by_alias=True) for item in response.output]
    results: Any = [
        {"type": "function_call_output", "call_id": "c1", "output": "42"},
        {"type": "function_call_output", "call_id": "c2", "output": "43"},
    ]
    schema: Any = {"type": "object", "properties": {}}
    client.responses.create(
        model="m",
        instructions="Be brief.",
        input=[{"type": "message", "role": "user", "content": "Hi"}, *items, *results],
        tools=[{"type": "function", "name": "f", "parameters": schema, "strict": True},
               {"type": "web_search"}],
        tool_choice={"type": "function", "name": "f"},
        parallel_tool_calls=False,
        max_output_tokens=99,
        store=False,
        include=["reasoning.encrypted_content"],
    )  # fmt: skip
    body = loopback.last.body

    call = RESPONSES.read_request(body)

    for item in body["input"]:  # an empty list says nothing
        for part in item["content"] if isinstance(item.get("content"), list) else ():
            part.pop("annotations", None)
    assert RESPONSES.write_request(call) == body
    assert [turn.role for turn in call.turns] == [
        Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL,
    ]  # fmt: skip
    thought, text, *calls = call.turns[2].parts
    assert thought == REPLY.parts[0]
    assert isinstance(text, Text)
    assert [(part.id, part.name, part.raw) for part in calls if isinstance(part, ToolCall)] == CALLS
    assert [result.call_id for result in call.turns[3].results] == ["c1", "c2"]
    assert call.tool_choice == ToolChoice("named", "f")
    assert (call.max_tokens, call.parallel, call.tools[0].strict) == (99, False, True)
