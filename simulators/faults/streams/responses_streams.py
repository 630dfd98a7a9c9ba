"""Faults of the Responses API event stream, as seen in compatible servers."""

from __future__ import annotations

from collections.abc import Mapping

from probes.adapters.json_fields import object_or_empty
from probes.messages import JSON
from simulators.faults.fault import Fault
from simulators.faults.streams.stream_fault import BROKEN_STREAM, StreamFaults
from simulators.faults.streams.stream_frames import Frame, Rewrite, first_half, named_event

FORMAT = "openai_responses"
END_EVENTS = ("response.completed", "response.incomplete")
ARGUMENTS = "response.function_call_arguments"
# No event of the format has this name; its documentation says that new ones can appear.
UNKNOWN_EVENT = "response.progress.updated"
SERVER_ERROR: JSON = {
    "code": "server_error",
    "message": "The server had an error while processing your request.",
}


def no_completed(frames: list[Frame]) -> list[Frame]:
    return [frame for frame in frames if frame.type not in END_EVENTS]


def no_item_done(frames: list[Frame]) -> list[Frame]:
    """Send calls as deltas only; the last event alone has them whole."""
    return [
        frame
        for frame in frames
        if frame.type != f"{ARGUMENTS}.done"
        and not _is_call_item(frame, "response.output_item.done")
    ]


def arguments_in_item(frames: list[Frame]) -> list[Frame]:
    """Send arguments in output_item.done and nowhere else."""
    return [
        frame.with_fields(response={**_read_response(frame), "output": []})
        if frame.type in END_EVENTS
        else frame
        for frame in frames
        if not frame.type.startswith(ARGUMENTS)
    ]


def response_failed(frames: list[Frame]) -> list[Frame]:
    failed: JSON = {**_read_response(frames[0]), "status": "failed", "error": SERVER_ERROR}
    return [*first_half(frames), named_event("response.failed", response=failed)]


def unknown_events(frames: list[Frame]) -> list[Frame]:
    """Add an event with an unknown name after every event but the last."""
    between = [
        event for frame in frames[:-1] for event in (frame, named_event(UNKNOWN_EVENT, percent=50))
    ]
    return [*between, *frames[-1:]]


def renumber(rule: Rewrite) -> Rewrite:
    """The rule, followed by new sequence numbers: a server counts what it sends."""

    def rewrite(frames: list[Frame]) -> list[Frame]:
        return [
            frame.with_fields(sequence_number=number) for number, frame in enumerate(rule(frames))
        ]

    return rewrite


def _is_call_item(frame: Frame, event: str) -> bool:
    item = object_or_empty((frame.body or {}).get("item"))
    return frame.type == event and item.get("type") == "function_call"


def _read_response(frame: Frame) -> Mapping[str, JSON]:
    return object_or_empty((frame.body or {}).get("response"))


_responses = StreamFaults(FORMAT)
FAULTS: tuple[Fault, ...] = (
    _responses(
        "no-completed", "", "the stream ends without response.completed",
        renumber(no_completed), BROKEN_STREAM,
    ),
    _responses(
        "no-item-done", "", "calls come as deltas, without the done events",
        renumber(no_item_done),
    ),
    _responses(
        "arguments-in-item", "", "arguments stand in output_item.done only",
        renumber(arguments_in_item),
    ),
    _responses(
        "response-failed", "", "response.failed in the middle of the stream",
        renumber(response_failed), BROKEN_STREAM,
    ),
)  # fmt: skip
