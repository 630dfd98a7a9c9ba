from __future__ import annotations

import json
from typing import Any

import pytest

from probes.messages import Breakage, Stop
from tests.simulators.conversation import FIRST
from tests.simulators.stream_client import (
    CHAT,
    PROSE,
    THINKER,
    StreamedAnswer,
    read_calls,
    user_turn,
)

ADD = '{"a":3,"b":4}'
ECHO = '{"message":"naïve \\"amber\\" ☕","tag":"beta"}'


def read_deltas(got: StreamedAnswer) -> list[dict[str, Any]]:
    return [body["choices"][0]["delta"] for body in got.bodies if body.get("choices")]


def read_entries(got: StreamedAnswer) -> list[dict[str, Any]]:
    """Every entry of every tool_calls list, in order."""
    return [entry for delta in read_deltas(got) for entry in delta.get("tool_calls", [])]


def read_heads(got: StreamedAnswer) -> list[dict[str, Any]]:
    """The entries that name a call."""
    return [entry for entry in read_entries(got) if entry["function"].get("name")]


def read_arguments(got: StreamedAnswer) -> list[Any]:
    return [entry["function"]["arguments"] for entry in read_entries(got)]


def read_finishes(got: StreamedAnswer) -> list[str]:
    reasons = [body["choices"][0]["finish_reason"] for body in got.bodies if body.get("choices")]
    return [reason for reason in reasons if reason]


def test_a_stream_without_faults_is_the_documented_one(vendor_url: str) -> None:
    """The healthy stream: index, id and name once, argument pieces, finish, [DONE]."""
    got = CHAT.streamed(vendor_url)

    assert [entry["index"] for entry in read_heads(got)] == [0, 1]
    assert "".join(read_arguments(got)) == ECHO + ADD
    assert read_finishes(got) == ["tool_calls"]
    assert got.data.endswith(b"data: [DONE]\n\n")
    assert not got.deviations


def test_no_index(vendor_url: str) -> None:
    """D1: calls are distinguished by their ids."""
    got = CHAT.streamed(vendor_url, "no-index")

    assert not any("index" in entry for entry in read_entries(got))
    assert len({entry["id"] for entry in read_heads(got)}) == 2
    assert "index_missing" in got.deviations
    assert read_calls(got.reply) == FIRST


def test_index_zero(vendor_url: str) -> None:
    """D2: every call has index 0; only its id is new."""
    got = CHAT.streamed(vendor_url, "index-zero")

    assert {entry["index"] for entry in read_entries(got)} == {0}
    assert len({entry["id"] for entry in read_heads(got)}) == 2
    assert "index_reused" in got.deviations
    assert read_calls(got.reply) == FIRST


def test_empty_ids(vendor_url: str) -> None:
    """D3: later deltas have "" as id and name."""
    got = CHAT.streamed(vendor_url, "empty-ids")

    later = [entry for entry in read_entries(got) if entry not in read_heads(got)]
    assert later
    assert all((entry["id"], entry["function"]["name"]) == ("", "") for entry in later)
    assert {"empty_id", "empty_name"} <= got.deviations
    assert read_calls(got.reply) == FIRST


def test_whole_arguments(vendor_url: str) -> None:
    """D4: one chunk per call."""
    got = CHAT.streamed(vendor_url, "whole-arguments")

    assert read_arguments(got) == [ECHO, ADD]
    assert all(entry["id"] and entry["function"]["name"] for entry in read_entries(got))
    assert "whole_call_in_one_chunk" in got.deviations
    assert read_calls(got.reply) == FIRST


def test_stop_with_calls(vendor_url: str) -> None:
    """D5: the finish reason is stop despite the calls."""
    got = CHAT.streamed(vendor_url, "stop-with-calls")

    assert read_finishes(got) == ["stop"]
    assert got.reply.stop is Stop.TOOL_CALLS
    assert read_calls(got.reply) == FIRST


def test_no_finish(vendor_url: str) -> None:
    """D6: [DONE] is the only end."""
    got = CHAT.streamed(vendor_url, "no-finish")

    assert read_finishes(got) == []
    assert got.data.endswith(b"data: [DONE]\n\n")
    assert got.reply.stop is Stop.TOOL_CALLS
    assert read_calls(got.reply) == FIRST


def test_no_done(vendor_url: str) -> None:
    """D7: the finish reason is the only end."""
    got = CHAT.streamed(vendor_url, "no-done")

    assert b"[DONE]" not in got.data
    assert read_finishes(got) == ["tool_calls"]
    assert got.reply.stop is Stop.TOOL_CALLS
    assert read_calls(got.reply) == FIRST


def test_same_index_twice(vendor_url: str) -> None:
    """D8: the name and the first piece of arguments are two entries of one chunk."""
    got = CHAT.streamed(vendor_url, "same-index-twice")

    pairs = [calls for delta in read_deltas(got) if len(calls := delta.get("tool_calls", [])) == 2]
    assert [[entry["index"] for entry in pair] for pair in pairs] == [[0, 0], [1, 1]]
    assert [("id" in name, "id" in more) for name, more in pairs] == [(True, False)] * 2
    assert "index_repeated_in_chunk" in got.deviations
    assert read_calls(got.reply) == FIRST


def test_index_drift(vendor_url: str) -> None:
    """D9: pieces of the first call carry indexes that are not its own."""
    got = CHAT.streamed(vendor_url, "index-drift")

    indexes = [entry["index"] for entry in read_entries(got)]
    assert indexes[:4] == [0, 1, 2, 3]
    assert [entry["index"] for entry in read_heads(got)] == [0, 1]
    assert "index_drift" in got.deviations
    assert read_calls(got.reply) == FIRST


def test_object_arguments(vendor_url: str) -> None:
    """D10: arguments are objects, not strings."""
    got = CHAT.streamed(vendor_url, "object-arguments")

    assert read_arguments(got) == [json.loads(ECHO), json.loads(ADD)]
    assert "arguments_object" in got.deviations
    assert read_calls(got.reply) == FIRST


@pytest.mark.parametrize("prompt", ["", PROSE], ids=["calls", "prose"])
def test_error_after_200(vendor_url: str, prompt: str) -> None:
    """D11: the stream starts normally and ends in an error object."""
    got = CHAT.streamed(vendor_url, "error-after-200", *([user_turn(prompt)] if prompt else []))

    assert read_deltas(got)[0] == {"role": "assistant", "content": None}
    assert got.bodies[-1]["error"]["type"] == "server_error"
    assert read_finishes(got) == []
    assert got.reply.stop is Stop.ERROR
    assert "error_in_stream" in got.deviations


def test_late_reasoning(vendor_url: str) -> None:
    """D12: the reasoning arrives after the calls, in the vendor's own field."""
    got = THINKER.streamed(vendor_url, "late-reasoning")

    kinds = ["calls" if "tool_calls" in delta else "thought" for delta in read_deltas(got)
             if "tool_calls" in delta or "reasoning_content" in delta]  # fmt: skip
    assert kinds == sorted(kinds)
    assert set(kinds) == {"calls", "thought"}
    assert got.reply.reasoning == THINKER.whole(vendor_url).reasoning
    assert "reasoning_after_calls" in got.deviations
    assert read_calls(got.reply) == FIRST


def test_usage_before_finish(vendor_url: str) -> None:
    """D13: a chunk without choices reports usage unrequested, and more chunks follow."""
    got = CHAT.streamed(vendor_url, "usage-before-finish")

    usage, finish = got.bodies[-2:]
    assert usage["choices"] == []
    assert usage["usage"]["completion_tokens"] > 0
    assert finish["choices"][0]["finish_reason"] == "tool_calls"
    assert "usage_before_finish" in got.deviations
    assert got.reply.usage.output_tokens
    assert read_calls(got.reply) == FIRST


def test_crlf_keepalive(vendor_url: str) -> None:
    """D14: no line ends in LF alone, and a comment precedes every event."""
    got = CHAT.streamed(vendor_url, "crlf-keepalive")

    assert got.data.startswith(b": OPENROUTER PROCESSING\r\n\r\ndata: {")
    assert got.data.count(b"\n") == got.data.count(b"\r\n") > 10
    assert "keepalive_comment" in got.deviations
    assert read_calls(got.reply) == FIRST


def test_split_utf8(vendor_url: str) -> None:
    """D15: characters are sent unescaped, and reads end inside them."""
    got = CHAT.streamed(vendor_url, "split-utf8")

    assert "na\u00efve".encode() in got.data
    assert b"\\u00ef" not in got.data
    cut = [chunk for chunk in got.chunks if chunk.endswith((b"\xc3", b"\xe2"))]
    assert len(cut) == 2
    assert not got.deviations
    assert read_calls(got.reply) == FIRST


def test_lost_tail(vendor_url: str) -> None:
    """Z23: the last characters of every call are missing in the stream only."""
    got = CHAT.streamed(vendor_url, "lost-tail")

    assert "".join(read_arguments(got)) == ECHO[:-3] + ADD[:-3]
    assert read_finishes(got) == ["tool_calls"]
    assert [call.kind for call in got.reply.broken] == [Breakage.INVALID_JSON] * 2
    assert read_calls(CHAT.whole(vendor_url, "lost-tail")) == FIRST


def test_dropped_deltas(vendor_url: str) -> None:
    """Z71: half of the parameters never arrive, and the rest is valid JSON."""
    got = CHAT.streamed(vendor_url, "dropped-deltas")

    assert read_calls(got.reply) == [("probe_echo", {"message": 'naïve "amber" ☕'}),
                               ("probe_add", {"a": 3})]  # fmt: skip
    assert read_finishes(got) == ["tool_calls"]
    assert read_calls(CHAT.whole(vendor_url, "dropped-deltas")) == FIRST


def test_concatenated(vendor_url: str) -> None:
    """Z19: one id, one index, and the arguments of both calls concatenated."""
    got = CHAT.streamed(vendor_url, "concatenated")

    assert [entry["function"]["name"] for entry in read_heads(got)] == ["probe_echo"]
    assert {entry["index"] for entry in read_entries(got)} == {0}
    assert "".join(read_arguments(got)) == ECHO + ADD
    assert read_calls(got.reply) == []
    assert read_calls(CHAT.whole(vendor_url, "concatenated")) == FIRST


def test_last_invoke_only(vendor_url: str) -> None:
    """Z71: only the second of two calls is streamed, as if it were the only one."""
    got = CHAT.streamed(vendor_url, "last-invoke-only")

    assert [(entry["index"], entry["function"]["name"]) for entry in read_heads(got)] == [
        (0, "probe_add")
    ]
    assert read_calls(got.reply) == FIRST[1:]
    assert read_calls(CHAT.whole(vendor_url, "last-invoke-only")) == FIRST


def test_phantom_stream(vendor_url: str) -> None:
    """Z17: the finish reason announces calls that never arrive."""
    got = CHAT.streamed(vendor_url, "phantom-stream")

    assert read_entries(got) == []
    assert read_finishes(got) == ["tool_calls"]
    assert got.reply.stop is Stop.END
    assert read_calls(CHAT.whole(vendor_url, "phantom-stream")) == FIRST


def test_truncated_opener(vendor_url: str) -> None:
    """Z30: the whole answer has the opener as text; the stream is empty."""
    got = CHAT.streamed(vendor_url, "truncated-opener")
    whole = CHAT.whole(vendor_url, "truncated-opener")

    assert read_deltas(got) == [{"role": "assistant", "content": None}, {}]
    assert read_finishes(got) == ["length"]
    assert (got.reply.text, got.reply.stop) == (None, Stop.LENGTH)
    assert (whole.text, whole.stop) == ("<tool_call>\n<function", Stop.LENGTH)
    assert read_calls(whole) == []


def test_stream_faults_can_be_combined(vendor_url: str) -> None:
    """Switches apply in order, each to the result of the previous one."""
    got = CHAT.streamed(vendor_url, "crlf-keepalive+split-utf8+no-index+no-done+stop-with-calls")

    assert b"[DONE]" not in got.data
    assert read_finishes(got) == ["stop"]
    assert not any("index" in entry for entry in read_entries(got))
    assert got.data.startswith(b": OPENROUTER PROCESSING\r\n")
    assert read_calls(got.reply) == FIRST
