"""Deviations of a Chat Completions stream where two rules would both explain a simpler case."""

from __future__ import annotations

import json
from typing import Any

import pytest

from probes.adapters.openai_chat.adapter import OpenAIChatAdapter
from probes.adapters.openai_responses.adapter import OpenAIResponsesAdapter
from probes.messages import Reply, Stop, Text
from tests.probes.adapters.openai_bodies import (
    DONE,
    calls,
    chunk,
    deviation_names,
    named_events,
    piece,
    read_reply,
)

CHAT = OpenAIChatAdapter()
ENDING = chunk(finish="tool_calls") + DONE


def read_calls(wire: bytes) -> list[tuple[str, str, str]]:
    return outline(read_reply(CHAT, wire + ENDING))


def outline(reply: Reply) -> list[tuple[str, str, str]]:
    return [(call.id, call.name, call.raw) for call in reply.calls]


def test_d1_z18_a_new_id_begins_a_call_though_the_last_has_no_arguments_yet() -> None:
    """Without an index only the id distinguishes two calls."""
    wire = calls(piece("", id="x", name="f")) + calls(piece("", id="y", name="g"))

    assert read_calls(wire + calls(piece('{"a":2}'))) == [("x", "f", ""), ("y", "g", '{"a":2}')]


def test_d8_z21_entries_of_two_calls_in_one_chunk_find_their_own_index() -> None:
    """A later entry in the array goes to the call with its index, not to the last one."""
    wire = calls(
        piece(index=0, id="x", name="f"),
        piece(index=1, id="y", name="g"),
        piece('{"a":1}', index=0),
        piece('{"a":2}', index=1),
    )

    assert read_calls(wire) == [("x", "f", '{"a":1}'), ("y", "g", '{"a":2}')]


def test_d3_z22_an_empty_id_in_the_first_delta_leaves_room_for_the_real_one() -> None:
    """ "" means absent: a later value counts."""
    wire = calls(piece("", index=0, id="", name="")) + calls(piece("{}", index=0, id="x", name="f"))

    assert read_calls(wire) == [("x", "f", "{}")]


def test_d9_z20_a_known_id_leads_to_its_call_though_the_index_drifts() -> None:
    """Arguments with an id go to the call with that id, even if another began since."""
    wire = calls(piece("", index=0, id="x", name="f"), piece("{}", index=1, id="y", name="g"))

    drifted = calls(piece('{"a":1}', index=5, id="x"))

    assert read_calls(wire + drifted) == [("x", "f", '{"a":1}'), ("y", "g", "{}")]


def test_d11_an_event_named_error_is_one_whatever_its_body_says() -> None:
    """The name decides if the body has none of the usual envelopes."""
    reply = read_reply(
        CHAT, chunk({"content": "Hi"}) + b'event: error\ndata: {"why": "no"}\n\n' + DONE
    )

    assert reply.stop is Stop.ERROR
    assert "error_in_stream" in deviation_names(reply)


@pytest.mark.parametrize("size", [1, 2, 3, 0])
def test_d14_an_event_of_several_crlf_lines_is_one_event(size: int) -> None:
    """A CR and its LF in two reads are one line end, and no blank line between two."""
    body = json.dumps({"choices": [{"index": 0, "delta": {"content": "Hi"}}]}, indent=1)
    lines = [f"data: {line}" for line in body.splitlines()]
    wire = "\r\n".join([*lines, "", ""]).encode() + chunk(finish="stop") + DONE

    reply = read_reply(CHAT, wire, size)

    assert reply.parts == (Text("Hi"),)
    assert deviation_names(reply) == []


def test_z23_a_finished_item_counts_where_deltas_lost_a_piece_and_nothing_else_is_told() -> None:
    """Deltas of the Responses API are for progress only; the finished item is the call."""
    item: Any = {"type": "function_call", "id": "fc_1", "call_id": "x", "name": "f"}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"id": "r"}},
        {"type": "response.output_item.added", "output_index": 0, "item": item | {"arguments": ""}},
        {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": '{"a"'},
        {
            "type": "response.output_item.done",
            "output_index": 0,
            "item": item | {"arguments": '{"a":1}'},
        },
        {"type": "response.completed", "response": {"id": "r", "status": "completed"}},
    ]

    assert outline(read_reply(OpenAIResponsesAdapter(), named_events(events))) == [
        ("x", "f", '{"a":1}')
    ]
