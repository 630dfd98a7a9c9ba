from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.adapters.openai_chat.adapter import OpenAIChatAdapter
from probes.messages import (
    Breakage,
    Opaque,
    Reasoning,
    ReasoningKind,
    Stop,
    Text,
    ToolCall,
    Usage,
)
from tests.probes.adapters.openai_bodies import (
    DONE,
    calls,
    check_events,
    chunk,
    data,
    deviation_names,
    piece,
    read_events,
    read_reply,
)

CHAT = OpenAIChatAdapter()
FIRST = chunk({"role": "assistant", "content": None})
ENDING = chunk(finish="tool_calls") + DONE
HEAD = calls(piece("", index=0, id="call_1", type="function", name="f"))
CANONICAL = FIRST + HEAD + calls(piece('{"a":', index=0)) + calls(piece("1}", index=0)) + ENDING
CALL = ToolCall("call_1", "f", {"a": 1}, "openai", '{"a":1}')


def two(first: ToolCall, second: ToolCall) -> list[tuple[str, str, str]]:
    return [(call.id, call.name, call.raw) for call in (first, second)]


@pytest.mark.parametrize("size", [1, 7, 0])
def test_a_canonical_stream_is_read_whole(size: int) -> None:
    """One call, its stop, and no deviation, however the bytes are cut."""
    reply = read_reply(CHAT, CANONICAL, size)

    assert reply.parts == (CALL,)
    assert (reply.stop, reply.stop_raw, reply.id) == (Stop.TOOL_CALLS, "tool_calls", "c")
    assert reply.deviations == ()


def test_a_stream_says_the_same_as_the_whole_answer() -> None:
    """Ids, parts, stop, usage and fingerprint equal those of the unstreamed body."""
    usage = {"prompt_tokens": 9, "completion_tokens": 7, "total_tokens": 16,
             "completion_tokens_details": {"reasoning_tokens": 3},
             "prompt_tokens_details": {"cached_tokens": 4}}  # fmt: skip
    root: dict[str, Any] = {"model": "m", "created": 5, "system_fingerprint": "fp"}
    entry = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
    message = {"role": "assistant", "content": "Hi you", "reasoning_content": "Hm.",
               "tool_calls": [entry]}  # fmt: skip
    whole: Any = {"id": "c", "object": "chat.completion", "usage": usage, **root,
             "choices": [{"index": 0, "message": message,
                          "finish_reason": "tool_calls"}]}  # fmt: skip
    wire = b"".join(
        [
            chunk({"role": "assistant", "content": "", "reasoning_content": "H"}, **root),
            chunk({"reasoning_content": "m."}, **root),
            chunk({"content": "Hi "}, **root),
            chunk({"content": "you"}, **root),
            HEAD,
            calls(piece('{"a":1}', index=0)),
            chunk(finish="tool_calls", **root),
            data({"id": "c", "choices": [], "usage": usage, **root}),
            DONE,
        ]
    )

    assert read_reply(CHAT, wire) == CHAT.read_reply(whole)
    assert read_reply(CHAT, wire).usage == Usage(9, 7, 3, 4)


def test_d1_z18_calls_without_an_index_are_told_apart_by_id() -> None:
    """A new id begins a call; deltas without an id belong to the last call."""
    wire = (
        FIRST
        + calls(piece('{"a"', id="x", name="f"))
        + calls(piece(":1}"))
        + calls(piece('{"a":2}', id="y", name="g"))
        + ENDING
    )

    reply = read_reply(CHAT, wire)

    assert two(*reply.calls) == [("x", "f", '{"a":1}'), ("y", "g", '{"a":2}')]
    assert "index_missing" in deviation_names(reply)


def test_d1_calls_without_index_and_id_are_told_apart_by_whole_arguments() -> None:
    """A name after a complete object begins another call; arguments are not joined."""
    entries = calls(piece('{"a":1}', name="f"), piece('{"a":2}', name="f"))

    reply = read_reply(CHAT, FIRST + entries + ENDING)

    assert [call.input for call in reply.calls] == [{"a": 1}, {"a": 2}]
    assert len({call.id for call in reply.calls}) == 2


def test_d2_z19_parallel_calls_all_with_index_0_stay_apart() -> None:
    """Another id with a name under the same index is another call."""
    wire = (
        FIRST
        + calls(piece('{"a":1}', index=0, id="x", name="f"))
        + calls(piece("", index=0, id="y", name="f"))
        + calls(piece('{"a":2}', index=0))
        + ENDING
    )

    reply = read_reply(CHAT, wire)

    assert two(*reply.calls) == [("x", "f", '{"a":1}'), ("y", "f", '{"a":2}')]
    assert "index_reused" in deviation_names(reply)


def test_z19_whole_calls_under_one_index_and_one_id_are_not_glued_together() -> None:
    """A name and more arguments after a complete object begin another call."""
    both = [calls(piece(text, index=0, id="x", name="f")) for text in ('{"a":1}', '{"a":2}')]

    reply = read_reply(CHAT, FIRST + b"".join(both) + ENDING)

    assert [call.input for call in reply.calls] == [{"a": 1}, {"a": 2}]
    assert "index_reused" in deviation_names(reply)


def test_d3_z22_empty_id_and_name_in_later_deltas_are_absent() -> None:
    """An empty string never begins or renames a call."""
    wire = FIRST + HEAD
    wire += b"".join(calls(piece(text, index=0, id="", name="")) for text in ('{"a"', ":1}"))

    reply = read_reply(CHAT, wire + ENDING)

    assert reply.parts == (CALL,)
    assert deviation_names(reply) == ["empty_id", "empty_name"]


def test_d4_a_call_that_comes_in_one_chunk_is_read() -> None:
    """Buffering vendors send name and arguments at once, several calls in one array."""
    both = calls(
        piece('{"a":1}', index=0, id="call_1", name="f"),
        piece("{}", index=1, id="call_2", name="g"),
    )

    reply = read_reply(CHAT, FIRST + both + ENDING)

    assert reply.parts == (CALL, ToolCall("call_2", "g", {}, "openai", "{}"))
    assert set(deviation_names(reply)) == {"whole_call_in_one_chunk"}


def test_d5_z15_stop_with_calls_is_a_stop_for_calls() -> None:
    """The calls decide, not the reason; the raw reason is kept."""
    reply = read_reply(CHAT, CANONICAL.replace(b'"tool_calls"}]', b'"stop"}]'))

    assert (reply.stop, reply.stop_raw, reply.parts) == (Stop.TOOL_CALLS, "stop", (CALL,))
    assert deviation_names(reply) == ["stop_with_calls"]


def test_d6_z16_a_missing_finish_reason_is_inferred() -> None:
    """[DONE] and complete arguments make it a call, and the deviation is noted."""
    reply = read_reply(CHAT, CANONICAL.removesuffix(ENDING) + DONE)

    assert (reply.stop, reply.stop_raw, reply.parts) == (Stop.TOOL_CALLS, None, (CALL,))
    assert deviation_names(reply) == ["finish_reason_missing"]


def test_d7_a_missing_done_is_noted_and_no_more() -> None:
    """The finish_reason shows that the answer is complete."""
    reply = read_reply(CHAT, CANONICAL.removesuffix(DONE))

    assert (reply.stop, reply.parts) == (Stop.TOOL_CALLS, (CALL,))
    assert deviation_names(reply) == ["done_missing"]


def test_d8_z21_two_entries_with_one_index_in_one_chunk_are_one_call() -> None:
    """Name and arguments in two entries of the same array belong together."""
    entries = calls(piece(index=0, id="call_1", name="f"), piece('{"a":1}', index=0))

    reply = read_reply(CHAT, FIRST + entries + ENDING)

    assert reply.parts == (CALL,)
    assert deviation_names(reply) == ["index_repeated_in_chunk"]


def test_d9_z20_arguments_with_a_drifting_index_belong_to_the_last_call() -> None:
    """A new index without id and name begins no call."""
    wire = FIRST + HEAD + calls(piece('{"a"', index=1)) + calls(piece(":1}", index=2)) + ENDING

    reply = read_reply(CHAT, wire)

    assert reply.parts == (CALL,)
    assert deviation_names(reply) == ["index_drift"]


def test_d10_arguments_as_an_object_are_serialised_once() -> None:
    """Even if each delta repeats the object."""
    same = calls(piece({"a": 1}, index=0, id="call_1", name="f"))

    reply = read_reply(CHAT, FIRST + same + calls(piece({"a": 1}, index=0)) + ENDING)

    assert [call.input for call in reply.calls] == [{"a": 1}]
    assert "arguments_object" in deviation_names(reply)


def test_d11_an_error_inside_a_200_ends_the_answer_as_an_error() -> None:
    """The cut call is broken, the error is kept."""
    wire = FIRST + HEAD + calls(piece('{"a":', index=0)) + data({"error": {"message": "gone"}})

    reply = read_reply(CHAT, wire + DONE)

    assert reply.stop is Stop.ERROR
    assert [broken.kind for broken in reply.broken] == [Breakage.TRUNCATED_CALL]
    assert reply.extra["openai"] == {"error": {"message": "gone"}}
    assert "error_in_stream" in deviation_names(reply)


@pytest.mark.parametrize(
    "wire",
    [
        b'{"error": {"message": "no"}}',
        b'event: error\ndata: {"message": "no"}\n\n',
        data({"base_resp": {"status_code": 1004, "status_msg": "no"}}),
    ],
)
def test_d11_every_way_to_say_an_error_is_heard(wire: bytes) -> None:
    """As a bare body, as a named event, in the legacy field of a vendor."""
    reply = read_reply(CHAT, wire)

    assert reply.stop is Stop.ERROR
    assert "error_in_stream" in deviation_names(reply)


def test_d12_reasoning_after_calls_is_kept_and_noted() -> None:
    """Nothing is merged into the content or lost."""
    late = chunk({"reasoning_content": "Hm."})

    reply = read_reply(CHAT, CANONICAL.removesuffix(ENDING) + late + ENDING)

    assert reply.parts == (CALL, Reasoning("Hm.", ReasoningKind.FIELD, "reasoning_content"))
    assert deviation_names(reply) == ["reasoning_after_calls"]


def test_d13_usage_before_the_finish_is_counted() -> None:
    """A chunk without choices does not end the answer."""
    usage = data({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}})

    reply = read_reply(CHAT, CANONICAL.removesuffix(ENDING) + usage + ENDING)

    assert (reply.parts, reply.usage) == ((CALL,), Usage(1, 2))
    assert deviation_names(reply) == ["usage_before_finish"]


@pytest.mark.parametrize("size", [1, 2, 3, 0])
def test_d14_keepalives_and_crlf_change_nothing(size: int) -> None:
    """Comments, empty data lines and event names are skipped."""
    noise = b": OPENROUTER PROCESSING\n\ndata:\n\nevent: chunk\n"
    wire = CANONICAL.replace(b"data: ", noise + b"data:", 3).replace(b"\n", b"\r\n")

    reply = read_reply(CHAT, wire, size)

    assert reply.parts == (CALL,)
    assert deviation_names(reply) == ["keepalive_comment"]


@pytest.mark.parametrize("size", range(1, 9))
def test_d15_characters_split_between_reads_stay_whole(size: int) -> None:
    """Multi-byte characters on the wire may be cut anywhere."""
    body = json.dumps({"choices": [{"delta": {"content": "né😀"}}]}, ensure_ascii=False)
    wire = f"data: {body}\n\n".encode() + chunk(finish="stop") + DONE

    assert read_reply(CHAT, wire, size).parts == (Text("né😀"),)


def test_z17_tool_calls_without_a_call_is_a_plain_end() -> None:
    """A finish reason without calls does not make the caller wait for one."""
    reply = read_reply(CHAT, chunk({"content": "Hi"}) + ENDING)

    assert (reply.stop, reply.parts) == (Stop.END, (Text("Hi"),))
    assert deviation_names(reply) == ["tool_calls_missing"]


@pytest.mark.parametrize("cut", range(len(FIRST + HEAD), len(CANONICAL) - len(ENDING)))
def test_z23_a_stream_that_breaks_off_never_hands_out_half_a_call(cut: int) -> None:
    """Rule 8: without an end, the last call counts only if its JSON is complete."""
    reply = read_reply(CHAT, CANONICAL[:cut])

    assert reply.stop is Stop.ERROR
    assert "broken_off" in deviation_names(reply)
    assert reply.calls in ((), (CALL,))
    assert reply.calls or reply.broken[0].kind is Breakage.TRUNCATED_CALL


def test_z23_arguments_cut_by_their_engine_are_broken() -> None:
    """A regular end does not make invalid JSON a call."""
    wire = CANONICAL.replace(b'"1}"', b'"1"')

    assert [(call.kind, call.raw) for call in read_reply(CHAT, wire).broken] == [
        (Breakage.INVALID_JSON, '{"a":1')
    ]


def test_z30_the_token_limit_cuts_the_last_call_streamed_as_whole() -> None:
    """Stream and unstreamed answer agree on a truncated call."""
    entries = [
        {"id": "x", "type": "function", "function": {"name": "f", "arguments": "{}"}},
        {"id": "y", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}},
    ]
    whole: Any = {"id": "c", "choices": [{"message": {"tool_calls": entries},
             "finish_reason": "length"}]}  # fmt: skip
    deltas = [calls({"index": place, **entry}) for place, entry in enumerate(entries)]
    wire = FIRST + b"".join(deltas) + chunk(finish="length") + DONE

    streamed = read_reply(CHAT, wire)

    assert streamed.parts == CHAT.read_reply(whole).parts
    assert [broken.id for broken in streamed.broken] == ["y"]


def test_z43_calls_with_one_reused_id_stay_apart() -> None:
    """Another index with a name is another call, whatever its id."""
    both = [
        calls(piece("{}", index=place, id="same", name=name))
        for place, name in ((0, "f"), (1, "g"))
    ]

    reply = read_reply(CHAT, FIRST + b"".join(both) + ENDING)

    assert [(call.id, call.name) for call in reply.calls] == [("same", "f"), ("same", "g")]
    assert "duplicate_id" in deviation_names(reply)


def test_a_name_in_pieces_is_joined_and_a_repeated_one_is_not() -> None:
    """Only before any argument, and only if the piece differs."""
    wire = FIRST + calls(piece(index=0, id="call_1", name="get_")) + calls(piece(index=0, name="x"))
    wire += calls(piece("{}", index=0, name="get_x")) + ENDING

    reply = read_reply(CHAT, wire)

    assert [call.name for call in reply.calls] == ["get_x"]
    assert deviation_names(reply) == ["name_in_pieces"]


def test_an_id_that_changes_without_a_name_begins_no_call() -> None:
    """Some engines mint an id for every delta."""
    wire = FIRST + HEAD + calls(piece('{"a":1}', index=0, id="call_9")) + ENDING

    reply = read_reply(CHAT, wire)

    assert reply.parts == (CALL,)
    assert deviation_names(reply) == ["id_changed"]


def test_a_call_without_a_name_is_broken_not_an_exception() -> None:
    """Nothing that arrives in a stream raises."""
    reply = read_reply(CHAT, FIRST + calls(piece("{}", index=0, id="x")) + ENDING)

    assert [broken.kind for broken in reply.broken] == [Breakage.UNKNOWN_TOOL]


def test_a_lost_piece_makes_every_call_before_it_untrusted() -> None:
    """A gap inside a string can leave valid JSON."""
    wire = FIRST + HEAD + calls(piece('{"a":"x', index=0)) + b"data: {garbage\n\n"
    wire += calls(piece('y"}', index=0)) + ENDING

    reply = read_reply(CHAT, wire)

    assert reply.calls == ()
    assert "lost" in reply.broken[0].error
    assert "event_not_json" in deviation_names(reply)


def test_more_calls_than_allowed_are_left_out_and_noted() -> None:
    """A hostile stream cannot grow the answer without limit."""
    many = [calls(piece("{}", index=place, id=f"c{place}", name="f")) for place in range(70)]

    reply = read_reply(CHAT, FIRST + b"".join(many) + ENDING)

    assert len(reply.calls) == 64
    assert "too_many_calls" in deviation_names(reply)


def test_a_legacy_function_call_is_assembled() -> None:
    """The field that preceded tool_calls streams too; streamed and unstreamed ids agree."""
    wire = chunk({"function_call": {"name": "f", "arguments": '{"a"'}})
    wire += chunk({"function_call": {"arguments": ":1}"}}) + chunk(finish="function_call") + DONE
    legacy = {"name": "f", "arguments": '{"a":1}'}
    whole: Any = {
        "choices": [{"message": {"function_call": legacy}, "finish_reason": "function_call"}]
    }

    reply = read_reply(CHAT, wire)

    assert reply.parts == CHAT.read_reply(whole).parts
    assert deviation_names(reply) == ["legacy_function_call"]


def test_only_the_first_choice_is_read() -> None:
    """Other choices are noted, never mixed in."""
    other = data({"choices": [{"index": 1, "delta": {"content": "two"}}]})

    reply = read_reply(CHAT, chunk({"content": "one"}) + other + chunk(finish="stop") + DONE)

    assert reply.parts == (Text("one"),)
    assert deviation_names(reply) == ["extra_choices"]


@pytest.mark.parametrize(
    "texts", [["a", "b", "c"], ["a", "ab", "abc"], ["abc", "abc"], ["a", "", "bc"]]
)
def test_reasoning_details_are_the_same_as_snapshots_and_as_increments(texts: list[str]) -> None:
    """A text that repeats all earlier text replaces it; any other is appended."""
    entries = [[{"type": "reasoning.text", "text": text, "format": "x"}] for text in texts]
    wire = b"".join(chunk({"reasoning_details": entry}) for entry in entries)

    reply = read_reply(CHAT, wire + chunk({"content": "Hi"}) + chunk(finish="stop") + DONE)

    raw = [{"type": "reasoning.text", "text": "abc", "format": "x"}]
    assert reply.parts == (Reasoning("abc", ReasoningKind.DETAILS, raw), Text("Hi"))


def test_reasoning_as_string_and_as_details_is_shown_once() -> None:
    """Both forms are kept for replay; the readable text is not doubled."""
    detail = {"type": "reasoning.text", "text": "Hm."}
    delta = {"reasoning": "Hm.", "reasoning_details": [detail]}
    whole: Any = {"choices": [{"message": {"content": "x", **delta}, "finish_reason": "stop"}]}

    reply = read_reply(CHAT, chunk(delta) + chunk({"content": "x"}) + chunk(finish="stop") + DONE)

    assert reply.parts == CHAT.read_reply(whole).parts
    assert reply.reasoning == "Hm."


def test_empty_reasoning_is_kept_apart_from_none() -> None:
    """An endpoint may require the empty field back."""
    wire = chunk({"role": "assistant", "content": None, "reasoning_content": ""}) + HEAD

    reply = read_reply(CHAT, wire + ENDING)

    assert reply.parts[0] == Reasoning("", ReasoningKind.FIELD, "reasoning_content")


def test_think_tags_in_content_stay_text() -> None:
    """The text parsers handle them, not the wire format."""
    wire = chunk({"content": "<think>Hm.</think>"}) + chunk({"content": "Hi"})

    reply = read_reply(CHAT, wire + chunk(finish="stop") + DONE)

    assert reply.parts == (Text("<think>Hm.</think>Hi"),)


def test_an_empty_content_beside_calls_is_no_text() -> None:
    """Engines send it in the first chunk in any case; alone it is an empty answer."""
    first = chunk({"role": "assistant", "content": ""})

    assert read_reply(CHAT, first + HEAD + ENDING).text is None
    assert read_reply(CHAT, first + chunk(finish="stop") + DONE).parts == (Text(""),)


def test_content_parts_of_a_delta_are_kept() -> None:
    """A text part is text; unknown parts are kept whole."""
    thinking: Any = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    wire = chunk({"content": [thinking]}) + chunk({"content": [{"type": "text", "text": "Hi"}]})

    reply = read_reply(CHAT, wire + chunk({"content": "!"}, finish="stop") + DONE)

    assert reply.parts == (Opaque("openai", thinking), Text("Hi!"))


def test_an_answer_that_was_not_streamed_is_read_all_the_same() -> None:
    """An endpoint that ignores `stream` sends one JSON body."""
    body = {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}

    reply = read_reply(CHAT, json.dumps(body, indent=1).encode(), 7)

    assert (reply.parts, reply.stop) == ((Text("Hi"),), Stop.END)
    assert deviation_names(reply) == ["not_streamed"]


@pytest.mark.parametrize("wire", [b"", b"<html>no</html>", b"data: [1]\n\n", DONE, b"{}"])
def test_what_is_no_answer_ends_without_parts(wire: bytes) -> None:
    """Nothing raises; the reply has no parts."""
    reply = read_reply(CHAT, wire)

    assert reply.parts == ()
    assert reply.deviations


def test_closing_twice_ends_once() -> None:
    """The reader returns exactly one ReplyEnded."""
    reader = CHAT.read_stream()
    reader.feed(CANONICAL)

    check_events(read_events(CHAT, CANONICAL))
    assert len(reader.close()) == 2  # the call's end and the reply's
    assert reader.close() == []


FIELDS = st.sampled_from(
    ["choices", "delta", "content", "tool_calls", "index", "id", "function", "name", "arguments",
     "finish_reason", "reasoning_content", "reasoning_details", "text", "error", "usage",
     "function_call", "refusal", "logprobs", "message"]
)  # fmt: skip
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 3)
    | st.sampled_from(["", "a", "{}", '{"a":1}', "stop"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=5),
    max_leaves=12,
)
DELTAS = st.dictionaries(FIELDS, VALUES, max_size=5)


@given(st.lists(st.builds(chunk, DELTAS) | st.builds(data, VALUES) | st.binary(max_size=20)))
def test_any_stream_ends_in_one_reply(pieces: list[bytes]) -> None:
    """No input makes the reader fail, and the events fulfil their promises."""
    wire = b"".join(pieces)

    assert read_reply(CHAT, wire, 5) == read_reply(CHAT, wire)
