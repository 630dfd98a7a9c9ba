"""Faults of the Anthropic Messages event stream, as seen in compatible servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from probes.adapters.json_fields import list_or_empty, object_or_empty, text_or_empty
from probes.messages import JSON
from simulators.faults.fault import Fault
from simulators.faults.streams.chat_chunks import parse_arguments
from simulators.faults.streams.stream_fault import BROKEN_STREAM, StreamFaults, StreamRewrite
from simulators.faults.streams.stream_frames import Frame, first_half, named_event
from simulators.vendors.reply_style import sign_text
from simulators.vendors.spec import Spec, VendorRequest

FORMAT = "anthropic"
OVERLOADED: JSON = {"type": "overloaded_error", "message": "Overloaded"}
# No event of the format has this name; its documentation says that new ones can appear.
UNKNOWN_EVENT = "message_progress"


def input_in_start(frames: list[Frame]) -> list[Frame]:
    """Put the whole input into the start of a call, without deltas."""
    inputs: dict[str, str] = {}
    for frame in frames:
        inputs[_read_index(frame)] = inputs.get(_read_index(frame), "") + _read_input(frame)
    return [_with_input(frame, inputs) for frame in frames if not _is_input_delta(frame)]


def no_block_stop(frames: list[Frame]) -> list[Frame]:
    return [frame for frame in frames if frame.type != "content_block_stop"]


def no_stop_reason(frames: list[Frame]) -> list[Frame]:
    return [
        frame.with_fields(delta={"stop_reason": None, "stop_sequence": None})
        if frame.type == "message_delta"
        else frame
        for frame in frames
    ]


def no_signature(frames: list[Frame]) -> list[Frame]:
    """Start thinking blocks without a signature, and send none later."""
    return [
        frame.with_fields(content_block=_without_signature(frame))
        if _without_signature(frame)
        else frame
        for frame in frames
        if _read_delta(frame).get("type") != "signature_delta"
    ]


def error_event(frames: list[Frame]) -> list[Frame]:
    return [*first_half(frames), named_event("error", error=OVERLOADED)]


def unknown_events(frames: list[Frame]) -> list[Frame]:
    """Add a ping and an event with an unknown name after every event but the last."""
    noise = [named_event("ping"), named_event(UNKNOWN_EVENT, percent=50)]
    between = [item for frame in frames[:-1] for item in (frame, *noise)]
    return [*between, *frames[-1:]]


def accept_unsigned(spec: Spec) -> Spec:
    """A server that signs nothing requires no signature."""
    rule = spec.rule
    if rule is None:
        return spec

    def lenient(request: VendorRequest) -> None:
        rule(replace(request, body=_sign_blocks(request.body)))

    return replace(spec, rule=lenient)


def _sign_blocks(body: Mapping[str, JSON]) -> Mapping[str, JSON]:
    messages = [object_or_empty(item) for item in list_or_empty(body.get("messages"))]
    return {**body, "messages": [_sign_message(message) for message in messages]}


def _sign_message(message: Mapping[str, JSON]) -> Mapping[str, JSON]:
    content = message.get("content")
    if not isinstance(content, list):
        return message
    blocks: list[JSON] = []
    for item in content:
        block = object_or_empty(item)
        is_unsigned = block.get("type") == "thinking" and not block.get("signature")
        thinking = text_or_empty(block.get("thinking"))
        blocks.append({**block, "signature": sign_text(thinking)} if is_unsigned else item)
    return {**message, "content": blocks}


def _read_delta(frame: Frame) -> Mapping[str, JSON]:
    return object_or_empty((frame.body or {}).get("delta"))


def _read_block(frame: Frame) -> Mapping[str, JSON]:
    return object_or_empty((frame.body or {}).get("content_block"))


def _read_index(frame: Frame) -> str:
    return str((frame.body or {}).get("index"))


def _is_input_delta(frame: Frame) -> bool:
    return _read_delta(frame).get("type") == "input_json_delta"


def _read_input(frame: Frame) -> str:
    return text_or_empty(_read_delta(frame).get("partial_json"))


def _with_input(frame: Frame, inputs: Mapping[str, str]) -> Frame:
    block = _read_block(frame)
    if block.get("type") != "tool_use":
        return frame
    whole = parse_arguments(inputs[_read_index(frame)]) or {}
    return frame.with_fields(content_block={**block, "input": whole})


def _without_signature(frame: Frame) -> dict[str, JSON]:
    block = _read_block(frame)
    if block.get("type") != "thinking":
        return {}
    return {key: value for key, value in block.items() if key != "signature"}


_anthropic = StreamFaults(FORMAT)
FAULTS: tuple[Fault, ...] = (
    _anthropic(
        "input-in-start", "", "the whole input stands in content_block_start, without deltas",
        input_in_start,
    ),
    _anthropic("no-block-stop", "", "no content_block_stop", no_block_stop),
    _anthropic("no-stop-reason", "", "message_delta without a stop_reason", no_stop_reason),
    _anthropic.with_hooks(
        "no-signature", "", "thinking is streamed without its signature, and none is asked back",
        StreamRewrite({FORMAT: no_signature}, accept_unsigned),
    ),
    _anthropic(
        "error-event", "", "an error event in the middle of the stream", error_event, BROKEN_STREAM
    ),
)  # fmt: skip
