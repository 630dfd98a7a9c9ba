"""Results that are not text, and ids that endpoints do not send."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest

from probes.adapters import FORMATS
from probes.adapters.json_fields import is_minted_id
from probes.events import PartStarted
from probes.losses import LossKind
from probes.messages import ModelCall, Role, Text, ToolCall, ToolResult, Turn
from tests.probes.adapters.wire_bodies import read_stream

VALUES: list[Any] = [{"a": [1, True]}, 5, True, ["x", {"type": "json", "json": {"b": 2}}]]
TEXTS = ['{"a": [1, true]}', "5", "true"]


def requests(value: Any) -> dict[str, Any]:
    """A result of this value in the formats that want text."""
    call = {"name": "f", "arguments": "{}"}
    return {
        "anthropic": {
            "messages": [
                {
                    "role": "assistant",
                    "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}],
                },
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "c", "content": value}],
                },
            ]
        },
        "openai": {
            "model": "m",
            "messages": [
                {
                    "role": "assistant",
                    "tool_calls": [{"id": "c", "type": "function", "function": call}],
                },
                {"role": "tool", "tool_call_id": "c", "content": value},
            ],
        },
        "openai_responses": {
            "model": "m",
            "input": [
                {"type": "function_call", "call_id": "c", **call},
                {"type": "function_call_output", "call_id": "c", "output": value},
            ],
        },
        "ollama": {
            "messages": [
                {
                    "role": "assistant",
                    "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": {}}}],
                },
                {"role": "tool", "tool_call_id": "c", "content": value},
            ]
        },
    }


@pytest.mark.parametrize(
    ("client", "endpoint", "index"),
    list(product(sorted(requests(None)), sorted(FORMATS), range(len(TEXTS)))),
)
def test_a_result_that_is_no_text_is_sent_as_json(client: str, endpoint: str, index: int) -> None:
    """An object, a number or a flag: never lost, never on the wire where text is wanted."""
    call = FORMATS[client].read_request(requests(VALUES[index])[client])

    body = FORMATS[endpoint].write_request(call)

    assert call.turns[-1].results[0].content == TEXTS[index]
    read = FORMATS[endpoint].read_request(json.loads(json.dumps(body)))
    assert json.loads(read.turns[-1].results[0].content) == VALUES[index]


@pytest.mark.parametrize(
    ("client", "endpoint"),
    [
        (client, endpoint)
        for client, endpoint in product(["anthropic", "openai", "openai_responses"], FORMATS)
        if client != endpoint
    ],
)
def test_blocks_of_unknown_kinds_are_flattened_to_json(client: str, endpoint: str) -> None:
    """Their content reaches the model, and the report says that it was flattened."""
    call = FORMATS[client].read_request(requests(VALUES[3])[client])

    body = json.dumps(FORMATS[endpoint].write_request(call))

    assert '\\"b\\": 2' in body
    assert LossKind.RESULT_BLOCKS in {loss.kind for loss in FORMATS[endpoint].losses(call)}


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_files_are_not_flattened_to_text(format: str) -> None:
    """A document in base64 would fill the prompt; it is left out, and reported."""
    document = {"type": "document", "source": {"type": "base64", "data": "JVBERi0="}}
    call = FORMATS["anthropic"].read_request(requests([document])["anthropic"])

    body = json.dumps(FORMATS[format].write_request(call))

    assert ("JVBERi0=" in body) == (format == "anthropic")
    assert format == "anthropic" or FORMATS[format].losses(call)


# Answers with a call and no id, as some vendors send them.
IDLESS: dict[str, Any] = {
    "anthropic": {
        "type": "message",
        "content": [{"type": "tool_use", "name": "f", "input": {}}],
        "stop_reason": "tool_use",
    },
    "openai": {
        "choices": [
            {
                "index": 0,
                "message": {
                    "content": None,
                    "tool_calls": [
                        {"type": "function", "function": {"name": "f", "arguments": "{}"}}
                    ],
                },
                "finish_reason": "tool_calls",
            }
        ]
    },
    "openai_responses": {
        "status": "completed",
        "output": [{"type": "function_call", "name": "f", "arguments": "{}"}],
    },
    "gemini": {
        "candidates": [
            {
                "content": {"parts": [{"functionCall": {"name": "f", "args": {}}}]},
                "finishReason": "STOP",
            }
        ]
    },
    "ollama": {
        "model": "m",
        "message": {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"function": {"name": "f", "arguments": {}}}],
        },
        "done": True,
        "done_reason": "stop",
    },
}


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_a_minted_id_is_unique_in_a_conversation(format: str) -> None:
    """The same call in two turns has two ids; the same reply always has the same."""
    adapter = FORMATS[format]

    def minted(seed: str) -> str:
        return adapter.read_reply(IDLESS[format], seed).calls[0].id

    assert minted("turn 1") == minted("turn 1")
    assert minted("turn 1") != minted("turn 2")
    assert is_minted_id(minted("turn 1"))
    assert len(minted("turn 1")) <= 40
    streamed = adapter.read_stream("turn 1")
    events = [*streamed.feed(json.dumps(IDLESS[format]).encode()), *streamed.close()]
    ids = {event.id for event in events if isinstance(event, PartStarted)}
    assert ids == {minted("turn 1")}


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_without_a_seed_ids_are_minted_as_before(format: str) -> None:
    """Stored evidence names them."""
    (call,) = FORMATS[format].read_reply(IDLESS[format]).calls

    assert call.id.startswith("call_")
    assert not is_minted_id(call.id)


@pytest.mark.parametrize("client", ["anthropic", "openai", "openai_responses"])
@pytest.mark.parametrize("endpoint", ["gemini", "ollama"])
def test_an_endpoint_without_ids_gets_none_back(client: str, endpoint: str) -> None:
    """The client needs an id; the endpoint is sent the call and its result as it knows them."""
    reply = FORMATS[endpoint].read_reply(IDLESS[endpoint], "turn 1")
    here = FORMATS[client]
    seen = here.read_reply(json.loads(json.dumps(here.write_reply(reply))))
    result = ToolResult(seen.calls[0].id, "1", name="f")
    history = ModelCall(
        "m", (Turn(Role.USER, (Text("Go."),)), seen.as_turn(), Turn(Role.TOOL, (result,)))
    )
    returned = here.read_request(json.loads(json.dumps(here.write_request(history))))

    body = json.dumps(FORMATS[endpoint].write_request(returned))

    assert is_minted_id(seen.calls[0].id)
    assert "minted" not in body
    assert "id" not in body.replace('"tool_name"', "").split('"')


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_text_beside_a_result_is_never_dropped(format: str) -> None:
    """A client may put both into one turn."""
    call = ToolCall("c", "f", {}, "", "{}")
    turns = (
        Turn(Role.USER, (Text("Go."),)),
        Turn(Role.ASSISTANT, (call,)),
        Turn(Role.TOOL, (ToolResult("c", "1", name="f"), Text("Hurry."))),
    )

    body = json.dumps(FORMATS[format].write_request(ModelCall("m", turns)))

    assert "Hurry." in body


def test_streams_of_seeded_readers_are_read_as_ever() -> None:
    """A seed changes nothing but missing ids."""
    chat = FORMATS["openai"]
    data = b'data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\n'
    reader = chat.read_stream("turn 1")

    events = [*reader.feed(data), *reader.close()]

    assert getattr(events[-1], "reply", None) == read_stream(chat, data)
