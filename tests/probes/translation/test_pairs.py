"""Every client format over every endpoint format: a three-step conversation arrives complete."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product

import pytest

from probes.adapters import FORMATS
from probes.adapters.base import Adapter, write_event_stream
from probes.events import ReplyEnded
from probes.losses import LossKind
from probes.messages import (
    JSON,
    ModelCall,
    Part,
    Reply,
    Role,
    Stop,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    Turn,
    Usage,
)
from probes.streams.assembler import reply_events
from probes.translate import translate_stream

PAIRS = list(product(sorted(FORMATS), repeat=2))
CITY: dict[str, JSON] = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS = (
    ToolSpec("get_weather", "Weather of a city.", CITY),
    ToolSpec("book", "Books nights.", {"type": "object", "properties": {"n": {"type": "integer"}}}),
)

# The parts of this conversation that a format cannot carry; everything else must arrive.
NAMED_LOSSES = {
    "openai": {LossKind.ERROR_FLAG},
    "openai_responses": {LossKind.ERROR_FLAG},
    "anthropic": set[LossKind](),
    "gemini": set[LossKind](),
    "ollama": {LossKind.ERROR_FLAG},
}

ASK = (
    Turn(Role.SYSTEM, (Text("Be brief."),)),
    Turn(Role.USER, (Text("Weather in “Paris” and Rome\n\\ then book?"),)),
)
STEP_1 = Reply(
    (
        Text("I look."),
        ToolCall("call_1", "get_weather", {"city": "Pâris ☕"}, "", '{"city": "Pâris ☕"}'),
        ToolCall("call_2", "get_weather", {"city": "Rome"}, "", '{"city": "Rome"}'),
    ),
    Stop.TOOL_CALLS,
    Usage(11, 7),
)
ANSWERS_1 = Turn(
    Role.TOOL,
    (
        ToolResult("call_1", "18 degrees", name="get_weather"),
        ToolResult("call_2", "no such city", is_error=True, name="get_weather"),
    ),
)
STEP_2 = Reply(
    (ToolCall("call_3", "book", {"n": 2}, "", '{"n": 2}'),), Stop.TOOL_CALLS, Usage(20, 5)
)
ANSWERS_2 = Turn(Role.TOOL, (ToolResult("call_3", "booked", name="book"),))
STEP_3 = Reply((Text("Booked two nights."),), Stop.END, Usage(30, 4))


def speaking(reply: Reply, adapter: Adapter) -> Reply:
    """The reply as a model behind this format would give it."""
    parts = tuple(
        ToolCall(part.id, part.name, part.input, adapter.format, part.raw)
        if isinstance(part, ToolCall)
        else part
        for part in reply.parts
    )
    return Reply(parts, reply.stop, reply.usage, id="r1", model="m")


def facts(turns: Iterable[Turn], lost: set[LossKind]) -> list[object]:
    """The content of a conversation, without format-specific names."""
    order: dict[str, int] = {}
    collected: list[object] = []
    for turn in turns:
        for part in turn.parts:
            collected.append(_fact(turn.role, part, order, lost))
    return collected


def _fact(role: Role, part: Part, order: dict[str, int], lost: set[LossKind]) -> object:
    match part:
        case Text():
            return (str(role), part.text)
        case ToolCall():
            number = order.setdefault(part.id, len(order))
            return ("call", number, part.name, json.dumps(part.input, sort_keys=True))
        case ToolResult():
            if LossKind.ERROR_FLAG in lost:
                return ("result", order[part.call_id], part.content.removeprefix("Error: "))
            return ("result", order[part.call_id], part.content, part.is_error)
        case _:
            raise AssertionError(f"nothing like {part!r} was said")


def carry_request(
    turns: tuple[Turn, ...], client: Adapter, endpoint: Adapter
) -> tuple[ModelCall, set[LossKind]]:
    """A client's question in one format, as read by an endpoint of another."""
    call = ModelCall("m", turns, TOOLS, 64)
    sent = received(client, call)
    losses = {loss.kind for loss in [*client.losses(call), *endpoint.losses(sent)]}
    allowed = NAMED_LOSSES[client.format] | NAMED_LOSSES[endpoint.format]
    assert losses <= allowed
    return received(endpoint, sent), losses


def received(adapter: Adapter, call: ModelCall) -> ModelCall:
    """The call as the other side reads it, with the model from the URL if it is there."""
    body = json.loads(json.dumps(adapter.write_request(call)))
    read = adapter.read_request(body)
    return replace(read, model=call.model) if "{model}" in adapter.path else read


def carry_reply(reply: Reply, client: Adapter, endpoint: Adapter) -> Reply:
    """An answer on its way back, as the client reads it."""
    sent_reply = endpoint.read_reply(json.loads(json.dumps(endpoint.write_reply(reply))))
    return client.read_reply(json.loads(json.dumps(client.write_reply(sent_reply))))


def carry_stream(reply: Reply, client: Adapter, endpoint: Adapter, size: int) -> Reply:
    """The same answer streamed, cut into pieces of this size on the way."""
    data = b"".join(write_event_stream(endpoint, reply_events(reply)))
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    reader = client.read_stream()
    events = []
    for piece in translate_stream(pieces, endpoint, client):
        events += reader.feed(piece)
    events += reader.close()
    last = events[-1]
    assert isinstance(last, ReplyEnded)
    return last.reply


def reply_facts(reply: Reply) -> tuple[object, ...]:
    return (*facts([reply.as_turn()], set()), reply.stop)


def three_steps(endpoint: Adapter) -> Sequence[tuple[tuple[Turn, ...], Reply]]:
    first, second, third = (speaking(reply, endpoint) for reply in (STEP_1, STEP_2, STEP_3))
    one = ASK
    two = (*one, first.as_turn(), ANSWERS_1)
    three = (*two, second.as_turn(), ANSWERS_2)
    return [(one, first), (two, second), (three, third)]


@pytest.mark.parametrize(("client", "endpoint"), PAIRS)
def test_the_endpoint_hears_all_that_the_client_said(client: str, endpoint: str) -> None:
    """Requests of all three steps arrive with no losses but those in the loss table."""
    here, there = FORMATS[client], FORMATS[endpoint]

    for turns, _ in three_steps(there):
        call, lost = carry_request(turns, here, there)

        assert facts(call.turns, lost) == facts(turns, lost)
        assert [(tool.name, tool.description, tool.schema) for tool in call.tools] == [
            (tool.name, tool.description, tool.schema) for tool in TOOLS
        ]
        assert (call.model, call.max_tokens) == ("m", 64)


@pytest.mark.parametrize(("client", "endpoint"), PAIRS)
def test_the_client_hears_all_that_the_endpoint_said(client: str, endpoint: str) -> None:
    """Replies of all three steps arrive complete, with the same stop reason."""
    here, there = FORMATS[client], FORMATS[endpoint]

    for _, reply in three_steps(there):
        received_reply = carry_reply(reply, here, there)

        assert reply_facts(received_reply) == reply_facts(reply)
        assert (received_reply.usage.input_tokens, received_reply.usage.output_tokens) == (
            reply.usage.input_tokens,
            reply.usage.output_tokens,
        )


@pytest.mark.parametrize("size", [1, 7, 1_000_000])
@pytest.mark.parametrize(("client", "endpoint"), PAIRS)
def test_the_client_hears_the_same_when_it_is_streamed(
    client: str, endpoint: str, size: int
) -> None:
    """A stream cut anywhere equals the whole reply."""
    here, there = FORMATS[client], FORMATS[endpoint]

    for _, reply in three_steps(there):
        assert reply_facts(carry_stream(reply, here, there, size)) == reply_facts(reply)
