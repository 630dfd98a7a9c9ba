"""Faults of the Responses API event stream, as compatible servers have them."""

from __future__ import annotations

from collections.abc import Mapping

from probes.adapters.json_fields import object_or_empty
from probes.messages import JSON
from simulators.faults.fault import Fault
from simulators.faults.streams.stream_fault import NO_VERDICT, StreamFaults
from simulators.faults.streams.stream_frames import Frame, Rewrite, first_half, named_event

FORMAT = "openai_responses"
ENDS = ("response.completed", "response.incomplete")
ARGUMENTS = "response.function_call_arguments"
# No event of the format has this name; clients are told to expect new ones.
UNKNOWN = "response.progress.updated"
SERVER_ERROR: JSON = {
    "code": "server_error",
    "message": "The server had an error while processing your request.",
}


def no_completed(frames: list[Frame]) -> list[Frame]:
    return [frame for frame in frames if frame.type not in ENDS]


def no_item_done(frames: list[Frame]) -> list[Frame]:
    """Calls come as deltas only; the last event alone has them whole."""
    return [
        frame
        for frame in frames
        if frame.type != f"{ARGUMENTS}.done" and not _is_item(frame, "response.output_item.done")
    ]


def arguments_in_item(frames: list[Frame]) -> list[Frame]:
    """Arguments stand in output_item.done and nowhere else."""
    return [
        frame.having(response={**_response(frame), "output": []}) if frame.type in ENDS else frame
        for frame in frames
        if not frame.type.startswith(ARGUMENTS)
    ]


def response_failed(frames: list[Frame]) -> list[Frame]:
    failed: JSON = {**_response(frames[0]), "status": "failed", "error": SERVER_ERROR}
    return [*first_half(frames), named_event("response.failed", response=failed)]


def unknown_events(frames: list[Frame]) -> list[Frame]:
    """An event of an unknown name behind every event but the last."""
    between = [one for frame in frames[:-1] for one in (frame, named_event(UNKNOWN, percent=50))]
    return [*between, *frames[-1:]]


def numbered(rule: Rewrite) -> Rewrite:
    """The rule, and the events counted anew: a server counts what it sends."""

    def counted(frames: list[Frame]) -> list[Frame]:
        return [frame.having(sequence_number=at) for at, frame in enumerate(rule(frames))]

    return counted


def _is_item(frame: Frame, event: str) -> bool:
    item = object_or_empty((frame.body or {}).get("item"))
    return frame.type == event and item.get("type") == "function_call"


def _response(frame: Frame) -> Mapping[str, JSON]:
    return object_or_empty((frame.body or {}).get("response"))


_responses = StreamFaults(FORMAT)
FAULTS: tuple[Fault, ...] = (
    _responses(
        "no-completed", "", "the stream ends without response.completed",
        numbered(no_completed), NO_VERDICT,
    ),
    _responses(
        "no-item-done", "", "calls come as deltas, without the done events",
        numbered(no_item_done),
    ),
    _responses(
        "arguments-in-item", "", "arguments stand in output_item.done only",
        numbered(arguments_in_item),
    ),
    _responses(
        "response-failed", "", "response.failed in the middle of the stream",
        numbered(response_failed), NO_VERDICT,
    ),
)  # fmt: skip
