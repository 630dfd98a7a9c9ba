"""Faults of the Chat Completions stream: deviations from the format, and losses."""

from __future__ import annotations

from dataclasses import replace

from probes.messages import JSON
from simulators.faults.fault import Fault
from simulators.faults.streams import chat_losses, wire_bytes
from simulators.faults.streams.chat_chunks import (
    Entry,
    StreamedCall,
    is_done,
    is_usage,
    parse_arguments,
    read_delta,
    read_entries,
    read_finish,
    read_name,
    read_stream,
    rewrite_calls,
    rewrite_entries,
    with_entries,
    with_finish,
)
from simulators.faults.streams.stream_fault import BROKEN_STREAM, StreamFaults, StreamRewrite
from simulators.faults.streams.stream_frames import Frame, first_half
from simulators.vendors.spec import Spec

REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_details")
SERVER_ERROR: JSON = {
    "message": "The server had an error while processing your request.",
    "type": "server_error",
    "param": None,
    "code": None,
}


def no_index(entry: Entry) -> Entry:
    return {key: value for key, value in entry.items() if key != "index"}


def index_zero(entry: Entry) -> Entry:
    return {**entry, "index": 0}


def empty_ids(entry: Entry) -> Entry:
    """Repeat id and name as empty strings after the first chunk of a call."""
    if read_name(entry):
        return entry
    function = entry.get("function")
    more = function if isinstance(function, dict) else {}
    return {**entry, "id": "", "function": {"name": "", **more}}


def whole_arguments(call: StreamedCall) -> StreamedCall:
    return call.with_whole_arguments(call.text)


def object_arguments(call: StreamedCall) -> StreamedCall:
    arguments = parse_arguments(call.text)
    return call if arguments is None else call.with_whole_arguments(arguments)


def same_index_twice(call: StreamedCall) -> StreamedCall:
    """Send the first piece of arguments as another entry of the chunk that names the call."""
    if not call.rest:
        return call
    first, *others = call.rest
    return StreamedCall(with_entries(call.head, call.entry, *read_entries(first)), tuple(others))


def index_drift(call: StreamedCall) -> StreamedCall:
    """Increase the index with every piece of arguments, without an id."""
    start = call.index if isinstance(call.index, int) else 0
    drifted = [
        with_entries(frame, *({**entry, "index": start + count} for entry in read_entries(frame)))
        for count, frame in enumerate(call.rest, 1)
    ]
    return StreamedCall(call.head, tuple(drifted))


def stop_with_calls(frames: list[Frame]) -> list[Frame]:
    return [
        with_finish(frame, "stop") if read_finish(frame) == "tool_calls" else frame
        for frame in frames
    ]


def no_finish(frames: list[Frame]) -> list[Frame]:
    return [frame for frame in frames if read_finish(frame) is None]


def no_done(frames: list[Frame]) -> list[Frame]:
    return [frame for frame in frames if not is_done(frame)]


def error_after_200(frames: list[Frame]) -> list[Frame]:
    done = [frame for frame in frames if is_done(frame)]
    return [*first_half(frames), Frame({"error": SERVER_ERROR}), *done]


def late_reasoning(frames: list[Frame]) -> list[Frame]:
    stream = read_stream(frames)
    thoughts = tuple(frame for frame in stream.before if _has_reasoning(frame))
    before = tuple(frame for frame in stream.before if not _has_reasoning(frame))
    if not stream.calls:
        return frames
    return replace(stream, before=before, after=(*thoughts, *stream.after)).frames


def usage_before_finish(frames: list[Frame]) -> list[Frame]:
    usage = [frame for frame in frames if is_usage(frame)]
    others = [frame for frame in frames if not is_usage(frame)]
    finish_positions = [
        position for position, frame in enumerate(others) if read_finish(frame) is not None
    ]
    position = finish_positions[0] if finish_positions else len(others)
    return [*others[:position], *usage, *others[position:]]


def _with_usage(spec: Spec) -> Spec:
    """Report usage without a request for it: otherwise nothing could arrive too early."""
    return replace(spec, reports_usage=lambda body, streamed: True)


def _has_reasoning(frame: Frame) -> bool:
    return any(name in read_delta(frame) for name in REASONING_FIELDS)


_chat = StreamFaults("openai")
FAULTS: tuple[Fault, ...] = (
    _chat("no-index", "D1, Z18", "deltas of calls have no index", rewrite_entries(no_index)),
    _chat(
        "index-zero", "D2, Z19", "every call has index 0 and an id of its own",
        rewrite_entries(index_zero),
    ),
    _chat(
        "empty-ids", "D3, Z22", 'later deltas of a call repeat id and name as ""',
        rewrite_entries(empty_ids),
    ),
    _chat(
        "whole-arguments", "D4", "a call comes whole in one chunk", rewrite_calls(whole_arguments)
    ),
    _chat(
        "stop-with-calls", "D5, Z15", "the finish reason is stop though there are calls",
        stop_with_calls,
    ),
    _chat("no-finish", "D6, Z16", "no finish reason, only [DONE]", no_finish),
    _chat("no-done", "D7", "the stream ends without [DONE]", no_done),
    _chat(
        "same-index-twice", "D8, Z21", "one chunk has two entries of the same index",
        rewrite_calls(same_index_twice),
    ),
    _chat(
        "index-drift", "D9, Z20", "the index of later deltas counts on, and they have no id",
        rewrite_calls(index_drift),
    ),
    _chat(
        "object-arguments", "D10", "arguments are an object instead of a string",
        rewrite_calls(object_arguments),
    ),
    _chat(
        "error-after-200", "D11", "an error object in the middle of the stream",
        error_after_200, BROKEN_STREAM,
    ),
    _chat(
        "late-reasoning", "D12", "the reasoning comes behind the calls", late_reasoning
    ),
    _chat.with_hooks(
        "usage-before-finish", "D13", "the usage comes unasked, before the finish reason",
        StreamRewrite({"openai": usage_before_finish}, _with_usage),
    ),
    *wire_bytes.FAULTS,
    *chat_losses.FAULTS,
)  # fmt: skip
