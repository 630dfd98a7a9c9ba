from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.adapters.base import write_event_stream
from probes.adapters.openai_responses.adapter import OpenAIResponsesAdapter
from probes.adapters.openai_responses.stream_writer import ResponsesStreamWriter
from probes.events import ReplyHead
from probes.messages import JSON, Breakage, Reasoning, ReasoningKind, Reply, Stop, Text, ToolCall
from probes.streams.assembler import reply_events
from tests.probes.adapters.openai_bodies import (
    check_events,
    data,
    deviation_names,
    named_events,
    read_events,
    read_reply,
)
from tests.probes.adapters.test_openai_round_trip import (
    ARGUMENTS,
    CONTENT,
    NAMES,
    NUMBERS,
    OBJECTS,
    TEXTS,
    record,
)

RESPONSES = OpenAIResponsesAdapter()
CALL: Any = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f",
             "arguments": '{"a":1}', "status": "completed"}  # fmt: skip
BEGUN = {**CALL, "arguments": "", "status": "in_progress"}
THOUGHT: Any = {"type": "reasoning", "id": "rs_1", "encrypted_content": "gA",
                "summary": [{"type": "summary_text", "text": "Hm."}]}  # fmt: skip
MESSAGE: Any = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": "Hi", "annotations": []}]}  # fmt: skip
WHOLE: Any = {"id": "resp_1", "object": "response", "status": "completed", "model": "m",
              "output": [THOUGHT, MESSAGE, CALL]}  # fmt: skip


def event(kind: str, position: int | None = None, **fields: Any) -> dict[str, Any]:
    at = {} if position is None else {"output_index": position}
    return {"type": f"response.{kind}", **at, **fields}


EVENTS = [
    event("created", response={"id": "resp_1", "model": "m", "status": "in_progress"}),
    event("output_item.added", 0, item={"type": "reasoning", "id": "rs_1", "summary": []}),
    event("reasoning_summary_text.delta", 0, item_id="rs_1", summary_index=0, delta="Hm."),
    event("output_item.done", 0, item=THOUGHT),
    event("output_item.added", 1, item={**MESSAGE, "content": [], "status": "in_progress"}),
    event("content_part.added", 1, item_id="msg_1", content_index=0, part={}),
    event("output_text.delta", 1, item_id="msg_1", content_index=0, delta="H"),
    event("output_text.delta", 1, item_id="msg_1", content_index=0, delta="i"),
    event("output_text.done", 1, item_id="msg_1", content_index=0, text="Hi"),
    event("output_item.done", 1, item=MESSAGE),
    event("output_item.added", 2, item=BEGUN),
    event("function_call_arguments.delta", 2, item_id="fc_1", delta='{"a"'),
    event("function_call_arguments.delta", 2, item_id="fc_1", delta=":1}"),
    event("function_call_arguments.done", 2, item_id="fc_1", arguments='{"a":1}'),
    event("output_item.done", 2, item=CALL),
    event("completed", response=WHOLE),
]


def without(*kinds: str) -> bytes:
    """The canonical stream without some of its events, renumbered."""
    return named_events(
        item for item in EVENTS if item["type"].removeprefix("response.") not in kinds
    )


@pytest.mark.parametrize("size", [1, 7, 0])
def test_a_stream_says_the_same_as_the_whole_answer(size: int) -> None:
    """Ids, parts, stop and model; no deviation, and no [DONE] is expected."""
    assert read_reply(RESPONSES, named_events(EVENTS), size) == RESPONSES.read_reply(WHOLE)


@pytest.mark.parametrize(
    "missing",
    [
        ("function_call_arguments.delta", "output_text.delta", "reasoning_summary_text.delta"),
        ("function_call_arguments.done",),
        ("output_item.added",),
        ("output_item.done",),
        ("output_item.done", "function_call_arguments.delta", "output_text.delta"),
        ("created",),
    ],
)
def test_events_that_are_missing_are_made_up_for(missing: tuple[str, ...]) -> None:
    """Deltas are for progress only; the finished item or the last event counts."""
    assert read_reply(RESPONSES, without(*missing)).parts == RESPONSES.read_reply(WHOLE).parts


def test_an_answer_is_put_together_from_deltas_where_nothing_else_says_it() -> None:
    """Without finished items and without an output in the last event."""
    events = [item for item in EVENTS if item["type"] != "response.output_item.done"]
    events[-1] = event("completed", response={**WHOLE, "output": []})

    reply = read_reply(RESPONSES, named_events(events))

    assert [(call.id, call.input) for call in reply.calls] == [("call_1", {"a": 1})]
    assert (reply.text, reply.reasoning, reply.stop) == ("Hi", "Hm.", Stop.TOOL_CALLS)
    assert "item_not_finished" in deviation_names(reply)


def test_arguments_are_put_together_from_deltas_alone() -> None:
    """Without their end, a finished item, or an output in the last event."""
    kinds = ("output_item.done", "function_call_arguments.done", "completed")
    events = [item for item in EVENTS if item["type"].removeprefix("response.") not in kinds]

    reply = read_reply(
        RESPONSES, named_events([*events, event("completed", response={"status": "completed"})])
    )

    assert [call.raw for call in reply.calls] == ['{"a":1}']


def test_a_call_that_may_have_lost_a_piece_is_no_call() -> None:
    """An unreadable event may have been part of its arguments."""
    head, first = (
        named_events(EVENTS[:1]),
        named_events([*EVENTS[10:11], {**EVENTS[11], "delta": '{"a":'}]),
    )
    rest = named_events([{**EVENTS[12], "delta": "1}"}, event("completed", response={})])

    reply = read_reply(RESPONSES, head + first + b"data: {oops\n\n" + rest)

    assert reply.calls == ()
    assert [broken.kind for broken in reply.broken] == [Breakage.TRUNCATED_CALL]


def test_an_event_name_and_a_type_say_the_same() -> None:
    """If a relay drops `event:` lines, the type in the data decides."""
    wire = b"".join(data(item) for item in EVENTS)

    assert read_reply(RESPONSES, wire).parts == RESPONSES.read_reply(WHOLE).parts


def test_z23_the_finished_arguments_win_over_the_deltas() -> None:
    """Deltas that lost a piece do no harm."""
    events = [item for item in EVENTS if item.get("delta") != ":1}"]

    assert [call.raw for call in read_reply(RESPONSES, named_events(events)).calls] == ['{"a":1}']


def test_z23_arguments_that_are_told_at_their_end_win_where_no_item_is_finished() -> None:
    """A stream that breaks off after `arguments.done` still has the whole call."""
    events = [item for item in EVENTS[:14] if item.get("delta") != ":1}"]

    assert [call.raw for call in read_reply(RESPONSES, named_events(events)).calls] == ['{"a":1}']


@pytest.mark.parametrize("last", range(10, 15))
def test_z16_a_stream_that_breaks_off_is_an_error(last: int) -> None:
    """A call counts only if its arguments are complete."""
    reply = read_reply(RESPONSES, named_events(EVENTS[:last]))

    whole = last > 12
    assert reply.stop is Stop.ERROR
    assert "broken_off" in deviation_names(reply)
    assert [call.input for call in reply.calls] == ([{"a": 1}] if whole else [])


def test_the_token_limit_cuts_a_call_that_stands_last() -> None:
    """As in the unstreamed answer, although the call was finished before the limit."""
    whole: Any = {**WHOLE, "status": "incomplete",
                  "incomplete_details": {"reason": "max_output_tokens"}}  # fmt: skip
    wire = named_events([*EVENTS[:-1], event("incomplete", response=whole)])

    reply = read_reply(RESPONSES, wire)

    assert reply == RESPONSES.read_reply(whole)
    assert [broken.kind for broken in reply.broken] == [Breakage.TRUNCATED_CALL]


@pytest.mark.parametrize(
    "ending",
    [
        {"type": "error", "code": "server_error", "message": "gone"},
        event("failed", response={"status": "failed", "error": {"code": "x", "message": "gone"}}),
    ],
)
def test_an_error_in_the_stream_ends_the_answer(ending: dict[str, Any]) -> None:
    """The error is kept."""
    reply = read_reply(RESPONSES, named_events([*EVENTS[:8], ending]))

    extra: Any = reply.extra["openai_responses"]
    assert reply.stop is Stop.ERROR
    assert extra["$error"]["message"] == "gone"


def test_an_unknown_event_is_reported_and_a_gap_in_the_numbers_is() -> None:
    """No event is dropped silently."""
    strange = {"type": "response.telepathy", "sequence_number": 99}

    reply = read_reply(RESPONSES, named_events([*EVENTS[:1], strange, *EVENTS[1:]]))

    assert [(note.name, note.path) for note in reply.deviations] == [
        ("sequence_number", "$.sequence_number"),
        ("unknown_event", "response.telepathy"),
    ]


def test_an_answer_that_was_not_streamed_is_read_all_the_same() -> None:
    """An endpoint that ignores `stream` sends one JSON body."""
    reply = read_reply(RESPONSES, json.dumps(WHOLE, indent=1).encode(), 9)

    assert reply.parts == RESPONSES.read_reply(WHOLE).parts
    assert deviation_names(reply) == ["not_streamed"]


def test_a_written_stream_has_one_id_from_beginning_to_end() -> None:
    """Clients reject a response whose id changes: the caller's, the endpoint's, or a minted one."""
    reply = RESPONSES.read_reply(WHOLE)

    (given,) = response_ids(reply, ReplyHead("resp_ours"))
    (own,) = response_ids(reply, ReplyHead())
    (minted,) = response_ids(replace(reply, id=""), ReplyHead())

    assert (given, own) == ("resp_ours", reply.id)
    assert minted.startswith("resp_")


def response_ids(reply: Reply, head: ReplyHead) -> set[str]:
    wire = b"".join(write_event_stream(RESPONSES, reply_events(reply), head)).decode()
    bodies = [json.loads(line[6:]) for line in wire.splitlines() if line.startswith("data: ")]
    return {body["response"]["id"] for body in bodies if "response" in body}


def test_what_is_held_back_never_goes_out() -> None:
    """A call that ends broken leaves no trace in the stream."""
    cut = RESPONSES.read_reply(
        {**WHOLE, "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    )

    wire = b"".join(write_event_stream(RESPONSES, reply_events(cut)))

    assert b"function_call" not in wire
    assert b"response.incomplete" in wire


TEXT = st.builds(lambda text, more: {"type": "output_text", "text": text, "annotations": more},
                 CONTENT, st.just([]) | st.lists(OBJECTS, min_size=1, max_size=2))  # fmt: skip
REFUSAL = CONTENT.map(lambda text: {"type": "refusal", "refusal": text})
IDS = st.uuids().map(lambda id_: id_.hex)
STATUS = st.just("completed")
OUT_MESSAGE = record(
    {"type": st.just("message"), "role": st.just("assistant"), "id": IDS, "status": STATUS,
     "content": st.lists(TEXT | REFUSAL, min_size=1, max_size=2)}
)  # fmt: skip
OUT_CALL = record(
    {"type": st.just("function_call"), "id": IDS, "call_id": IDS, "name": NAMES,
     "arguments": ARGUMENTS, "status": STATUS}
)  # fmt: skip
OUT_THOUGHT = record(
    {"type": st.just("reasoning"), "id": IDS,
     "summary": st.lists(TEXTS.map(lambda text: {"type": "summary_text", "text": text}))},
    encrypted_content=CONTENT,
)  # fmt: skip
OUT_OTHER = record({"type": st.just("custom_tool_call"), "id": IDS, "input": TEXTS})
OUTPUT = st.lists(OUT_MESSAGE | OUT_CALL | OUT_THOUGHT | OUT_OTHER, max_size=4)
REPLY = record(
    {"id": NAMES, "object": st.just("response"), "created_at": NUMBERS, "status": STATUS,
     "error": st.none(), "incomplete_details": st.none(), "model": NAMES, "output": OUTPUT,
     "parallel_tool_calls": st.booleans(), "tool_choice": st.just("auto"), "tools": st.just([]),
     "usage": st.just({"input_tokens": 1, "output_tokens": 2, "total_tokens": 3, "x": 1})},
)  # fmt: skip
IN_TEXT = record({"type": st.just("input_text"), "text": TEXTS})
IN_IMAGE = st.just({"type": "input_image", "image_url": "data:"})
IN_MESSAGE = record(
    {"type": st.just("message"), "role": st.sampled_from(["user", "system", "developer"]),
     "content": TEXTS | st.lists(IN_TEXT | IN_IMAGE, min_size=2, max_size=3)}
)  # fmt: skip
IN_RESULT = record(
    {"type": st.just("function_call_output"), "call_id": IDS,
     "output": TEXTS | st.lists(IN_TEXT | IN_IMAGE, min_size=2, max_size=3)}
)  # fmt: skip
IN_SAID = record({"type": st.just("message"), "role": st.just("assistant"), "content": TEXTS})
IN_OTHER = st.just({"type": "custom_tool_call_output", "call_id": "c", "output": "x"})
TOOL = record({"type": st.just("function"), "name": NAMES}, description=CONTENT, parameters=OBJECTS,
              strict=st.booleans())  # fmt: skip
REQUEST = record(
    {"model": NAMES,
     "input": st.lists(IN_MESSAGE | IN_RESULT | IN_SAID | IN_OTHER | OUT_CALL | OUT_THOUGHT,
                       max_size=5)},
    instructions=TEXTS,
    tools=st.lists(TOOL | st.just({"type": "web_search"}), min_size=1, max_size=3),
    tool_choice=st.sampled_from(["auto", "required", {"type": "function", "name": "f"},
                                 {"type": "web_search"}]),
    parallel_tool_calls=st.booleans(), max_output_tokens=NUMBERS, stream=st.just(True),
    previous_response_id=NAMES, store=st.booleans(), include=st.lists(NAMES),
)  # fmt: skip


@given(REQUEST)
def test_a_request_is_written_as_it_was_read(body: JSON) -> None:
    """Nothing is lost, unknown fields of every level included."""
    call = RESPONSES.read_request(body)

    assert RESPONSES.write_request(call) == body
    assert RESPONSES.losses(call) == []


@given(REPLY)
def test_a_reply_is_written_as_it_was_read(body: JSON) -> None:
    """The client gets what the endpoint sent."""
    reply = RESPONSES.read_reply(body)

    assert RESPONSES.write_reply(reply) == body
    assert RESPONSES.losses(reply) == []


@given(REPLY, st.integers(1, 60))
def test_a_reply_streamed_is_the_reply_read_whole(body: JSON, size: int) -> None:
    """Whole, to values, to a stream, to values, to a stream again: equal, however it is cut."""
    reply = RESPONSES.read_reply(body)
    head = ReplyHead(reply.id, reply.model or "")
    writer, second = ResponsesStreamWriter(head), ResponsesStreamWriter(head)

    events = read_events(RESPONSES, b"".join(map(writer.write, reply_events(reply))), size)
    rewritten = read_reply(RESPONSES, b"".join(map(second.write, events)))

    assert check_events(events) == reply
    assert rewritten == reply


FIELDS = st.sampled_from(
    ["type", "item", "output_index", "item_id", "id", "delta", "arguments", "response", "output",
     "status", "content", "text", "name", "call_id", "summary", "error", "message"]
)  # fmt: skip
KINDS = st.sampled_from([item["type"] for item in EVENTS] + ["error", "", "function_call"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2) | KINDS | st.sampled_from(["{}", "message"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=5),
    max_leaves=10,
)
HOSTILE = st.builds(lambda kind, more: {**more, "type": kind}, KINDS,
                    st.dictionaries(FIELDS, VALUES, max_size=5))  # fmt: skip


@given(st.lists(st.builds(data, HOSTILE | VALUES) | st.binary(max_size=20), max_size=8))
def test_any_stream_ends_in_one_reply(pieces: list[bytes]) -> None:
    """No input makes the reader fail, and the events fulfil their promises."""
    wire = b"".join(pieces)

    assert read_reply(RESPONSES, wire, 5) == read_reply(RESPONSES, wire)


def test_parts_are_those_of_the_items() -> None:
    """Written out once, as the fixed reference of the other tests."""
    thought, text, call = RESPONSES.read_reply(WHOLE).parts

    assert thought == Reasoning("Hm.", ReasoningKind.ITEM, THOUGHT)
    assert isinstance(text, Text)
    assert isinstance(call, ToolCall)
    assert (text.text, call.id, call.input) == ("Hi", "call_1", {"a": 1})
