"""Faults of Ollama's stream: older versions, proxies, errors."""

from __future__ import annotations

import json
from collections.abc import Mapping

from probes.adapters.json_fields import list_or_empty, object_or_empty
from probes.messages import JSON
from simulators.faults.fault import Fault
from simulators.faults.streams.stream_fault import LOSES, NO_VERDICT, StreamFaults
from simulators.faults.streams.stream_frames import Frame

BLANK = Frame(None, raw=b"\n", is_line=True)


def error_line(frames: list[Frame]) -> list[Frame]:
    """The server cannot read its own model's call, and says so where the call would come."""
    for at, frame in enumerate(frames):
        if calls := _calls(frame):
            told = f"error parsing tool call: raw='{_raw(calls[0])}', err={_WHY}"
            return [*frames[:at], Frame({"error": told}, is_line=True)]
    return frames


def no_done_line(frames: list[Frame]) -> list[Frame]:
    return [frame for frame in frames if (frame.body or {}).get("done") is not True]


def calls_without_id(frames: list[Frame]) -> list[Frame]:
    return [
        frame.having(message={**_message(frame), "tool_calls": [_bare(call) for call in calls]})
        if (calls := _calls(frame))
        else frame
        for frame in frames
    ]


def blank_lines(frames: list[Frame]) -> list[Frame]:
    return [one for frame in frames for one in (frame, BLANK)]


_WHY = "unexpected end of JSON input"


def _raw(call: Mapping[str, JSON]) -> str:
    """What the model wrote, without the end that the server misses."""
    function = object_or_empty(call.get("function"))
    written = {"name": function.get("name"), "arguments": function.get("arguments")}
    return json.dumps(written, ensure_ascii=False)[:-1]


def _bare(call: Mapping[str, JSON]) -> Mapping[str, JSON]:
    function = object_or_empty(call.get("function"))
    return {"function": {key: function[key] for key in function if key != "index"}}


def _message(frame: Frame) -> Mapping[str, JSON]:
    return object_or_empty((frame.body or {}).get("message"))


def _calls(frame: Frame) -> list[Mapping[str, JSON]]:
    return [object_or_empty(call) for call in list_or_empty(_message(frame).get("tool_calls"))]


_ollama = StreamFaults("ollama")
FAULTS: tuple[Fault, ...] = (
    _ollama(
        "error-line", "Z45", "an error line where a call would come: the server cannot parse it",
        error_line, LOSES,
    ),
    _ollama(
        "no-done-line", "", "every line says done: false, and the stream ends",
        no_done_line, NO_VERDICT,
    ),
    _ollama("calls-without-id", "", "calls have neither id nor index", calls_without_id),
    _ollama("blank-lines", "", "empty lines stand between the lines", blank_lines),
)  # fmt: skip
