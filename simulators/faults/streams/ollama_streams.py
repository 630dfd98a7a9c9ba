"""Faults of Ollama's stream: older versions, proxies, errors."""

from __future__ import annotations

import json
from collections.abc import Mapping

from probes.adapters.json_fields import list_or_empty, object_or_empty
from probes.messages import JSON
from simulators.faults.fault import Fault
from simulators.faults.streams.stream_fault import BROKEN_STREAM, GARBLES, StreamFaults
from simulators.faults.streams.stream_frames import Frame

BLANK = Frame(None, raw=b"\n", is_line=True)


def error_line(frames: list[Frame]) -> list[Frame]:
    """Send a parse error in place of the model's call."""
    for position, frame in enumerate(frames):
        if calls := _read_calls(frame):
            message = (
                f"error parsing tool call: raw='{_truncated_call(calls[0])}', err={_PARSE_ERROR}"
            )
            return [*frames[:position], Frame({"error": message}, is_line=True)]
    return frames


def no_done_line(frames: list[Frame]) -> list[Frame]:
    return [frame for frame in frames if (frame.body or {}).get("done") is not True]


def calls_without_id(frames: list[Frame]) -> list[Frame]:
    return [
        frame.with_fields(
            message={**_read_message(frame), "tool_calls": [_without_ids(call) for call in calls]}
        )
        if (calls := _read_calls(frame))
        else frame
        for frame in frames
    ]


def blank_lines(frames: list[Frame]) -> list[Frame]:
    return [line for frame in frames for line in (frame, BLANK)]


_PARSE_ERROR = "unexpected end of JSON input"


def _truncated_call(call: Mapping[str, JSON]) -> str:
    """The call as the model wrote it, without its last character."""
    function = object_or_empty(call.get("function"))
    written = {"name": function.get("name"), "arguments": function.get("arguments")}
    return json.dumps(written, ensure_ascii=False)[:-1]


def _without_ids(call: Mapping[str, JSON]) -> Mapping[str, JSON]:
    function = object_or_empty(call.get("function"))
    return {"function": {key: function[key] for key in function if key != "index"}}


def _read_message(frame: Frame) -> Mapping[str, JSON]:
    return object_or_empty((frame.body or {}).get("message"))


def _read_calls(frame: Frame) -> list[Mapping[str, JSON]]:
    return [object_or_empty(call) for call in list_or_empty(_read_message(frame).get("tool_calls"))]


_ollama = StreamFaults("ollama")
FAULTS: tuple[Fault, ...] = (
    _ollama(
        "error-line", "Z45", "an error line where a call would come: the server cannot parse it",
        error_line, GARBLES,
    ),
    _ollama(
        "no-done-line", "", "every line says done: false, and the stream ends",
        no_done_line, BROKEN_STREAM,
    ),
    _ollama("calls-without-id", "", "calls have neither id nor index", calls_without_id),
    _ollama("blank-lines", "", "empty lines stand between the lines", blank_lines),
)  # fmt: skip
