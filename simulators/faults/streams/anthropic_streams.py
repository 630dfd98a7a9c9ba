"""Faults of the Anthropic Messages event stream, as compatible servers have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from probes.adapters.json_fields import list_or_empty, object_or_empty, text_or_empty
from probes.messages import JSON
from simulators.faults.fault import Fault
from simulators.faults.streams.chat_chunks import parse_arguments
from simulators.faults.streams.stream_fault import NO_VERDICT, StreamFaults, StreamRewrite
from simulators.faults.streams.stream_frames import Frame, first_half, named_event
from simulators.vendors.reply_style import sign_text
from simulators.vendors.spec import Spec, VendorRequest

FORMAT = "anthropic"
OVERLOADED: JSON = {"type": "overloaded_error", "message": "Overloaded"}
# No event of the format has this name; clients are told to expect new ones.
UNKNOWN = "message_progress"


def input_in_start(frames: list[Frame]) -> list[Frame]:
    """The start of a call has the whole input, and no delta follows."""
    inputs: dict[str, str] = {}
    for frame in frames:
        inputs[_index(frame)] = inputs.get(_index(frame), "") + _input(frame)
    return [_with_input(frame, inputs) for frame in frames if not _is_input(frame)]


def no_block_stop(frames: list[Frame]) -> list[Frame]:
    return [frame for frame in frames if frame.type != "content_block_stop"]


def no_stop_reason(frames: list[Frame]) -> list[Frame]:
    return [
        frame.having(delta={"stop_reason": None, "stop_sequence": None})
        if frame.type == "message_delta"
        else frame
        for frame in frames
    ]


def no_signature(frames: list[Frame]) -> list[Frame]:
    """Thinking blocks begin without a signature, and none comes."""
    return [
        frame.having(content_block=_unsigned(frame)) if _unsigned(frame) else frame
        for frame in frames
        if _delta(frame).get("type") != "signature_delta"
    ]


def error_event(frames: list[Frame]) -> list[Frame]:
    return [*first_half(frames), named_event("error", error=OVERLOADED)]


def unknown_events(frames: list[Frame]) -> list[Frame]:
    """A ping and an event of an unknown name behind every event but the last."""
    noise = [named_event("ping"), named_event(UNKNOWN, percent=50)]
    between = [one for frame in frames[:-1] for one in (frame, *noise)]
    return [*between, *frames[-1:]]


def takes_unsigned(spec: Spec) -> Spec:
    """A server that signs nothing asks for no signature."""
    rule = spec.rule
    if rule is None:
        return spec

    def lenient(request: VendorRequest) -> None:
        rule(replace(request, body=_signed(request.body)))

    return replace(spec, rule=lenient)


def _signed(body: Mapping[str, JSON]) -> Mapping[str, JSON]:
    messages = [object_or_empty(item) for item in list_or_empty(body.get("messages"))]
    return {**body, "messages": [_with_signatures(message) for message in messages]}


def _with_signatures(message: Mapping[str, JSON]) -> Mapping[str, JSON]:
    content = message.get("content")
    if not isinstance(content, list):
        return message
    blocks: list[JSON] = []
    for item in content:
        block = object_or_empty(item)
        bare = block.get("type") == "thinking" and not block.get("signature")
        said = text_or_empty(block.get("thinking"))
        blocks.append({**block, "signature": sign_text(said)} if bare else item)
    return {**message, "content": blocks}


def _delta(frame: Frame) -> Mapping[str, JSON]:
    return object_or_empty((frame.body or {}).get("delta"))


def _block(frame: Frame) -> Mapping[str, JSON]:
    return object_or_empty((frame.body or {}).get("content_block"))


def _index(frame: Frame) -> str:
    return str((frame.body or {}).get("index"))


def _is_input(frame: Frame) -> bool:
    return _delta(frame).get("type") == "input_json_delta"


def _input(frame: Frame) -> str:
    return text_or_empty(_delta(frame).get("partial_json"))


def _with_input(frame: Frame, inputs: Mapping[str, str]) -> Frame:
    block = _block(frame)
    if block.get("type") != "tool_use":
        return frame
    whole = parse_arguments(inputs[_index(frame)]) or {}
    return frame.having(content_block={**block, "input": whole})


def _unsigned(frame: Frame) -> dict[str, JSON]:
    block = _block(frame)
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
        StreamRewrite({FORMAT: no_signature}, takes_unsigned),
    ),
    _anthropic(
        "error-event", "", "an error event in the middle of the stream", error_event, NO_VERDICT
    ),
)  # fmt: skip
