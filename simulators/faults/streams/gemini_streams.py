"""Faults and rare shapes of Gemini's stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from probes.adapters.json_fields import list_or_empty, object_or_empty
from probes.messages import JSON
from simulators.faults.fault import Fault
from simulators.faults.streams.stream_fault import (
    BROKEN_STREAM,
    GARBLES,
    NO_CALLS_IN_STREAMS,
    StreamFaults,
    StreamRewrite,
)
from simulators.faults.streams.stream_frames import Frame
from simulators.vendors.closure_rules import read_contents, read_parts
from simulators.vendors.spec import Spec, VendorRequest

FORMAT = "gemini"
CALL = "functionCall"
SIGNATURE = "thoughtSignature"
Part = Mapping[str, JSON]


def trailing_signature(frames: list[Frame]) -> list[Frame]:
    """Send the signature of a call after it, on an empty text part."""
    signatures = [
        p[SIGNATURE] for f in frames for p in _read_parts(f) if CALL in p and SIGNATURE in p
    ]
    bare = [
        _with_parts(frame, [_without_signature(part) for part in _read_parts(frame)])
        for frame in frames
    ]
    trailing = [{"text": "", SIGNATURE: signature} for signature in signatures]
    return [*bare[:-1], _with_parts(bare[-1], [*_read_parts(bare[-1]), *trailing])]


def no_finish_reason(frames: list[Frame]) -> list[Frame]:
    return [_with_candidate(frame, finishReason=None) for frame in frames]


def split_calls(frames: list[Frame]) -> list[Frame]:
    """Send each argument with its path, in separate chunks after the name."""
    return [piece for frame in frames for piece in _split_frame(frame)]


def single_chunk(frames: list[Frame]) -> list[Frame]:
    """Send everything in one chunk, finish reason included."""
    parts = [part for frame in frames for part in _read_parts(frame)]
    return [_with_parts(frames[-1], parts)]


def malformed_finish(frames: list[Frame]) -> list[Frame]:
    """Drop the calls and report the model's call as malformed in the finish reason."""
    if not any(CALL in part for frame in frames for part in _read_parts(frame)):
        return frames
    bare = [
        _with_parts(frame, [part for part in _read_parts(frame) if CALL not in part])
        for frame in frames
    ]
    last = _with_candidate(bare[-1], finishReason="MALFORMED_FUNCTION_CALL")
    return [*(frame for frame in bare[:-1] if _read_parts(frame)), last]


def accept_trailing_signature(spec: Spec) -> Spec:
    """A server that signs after a call accepts the signature at the same position."""
    rule = spec.rule
    if rule is None:
        return spec

    def lenient(request: VendorRequest) -> None:
        contents = [_move_signature(content) for content in read_contents(request.body)]
        rule(replace(request, body={**request.body, "contents": contents}))

    return replace(spec, rule=lenient)


def _move_signature(content: Mapping[str, JSON]) -> Mapping[str, JSON]:
    parts: list[Part] = list(read_parts(content))
    call_positions = [position for position, part in enumerate(parts) if CALL in part]
    trailing = [part[SIGNATURE] for part in parts if CALL not in part and SIGNATURE in part]
    if call_positions and trailing:
        parts[call_positions[0]] = {SIGNATURE: trailing[0], **parts[call_positions[0]]}
    return {**content, "parts": parts}


def _split_frame(frame: Frame) -> Iterator[Frame]:
    rest = [part for part in _read_parts(frame) if CALL not in part]
    for part in _read_parts(frame):
        if CALL in part:
            for piece in _split_call(part):
                yield replace(frame, body={"candidates": [_build_content([piece])]})
    if rest or "finishReason" in _read_candidate(frame):
        yield _with_parts(frame, rest)


def _split_call(part: Part) -> Iterator[Part]:
    call = object_or_empty(part[CALL])
    named = {key: value for key, value in call.items() if key != "args"}
    yield {**part, CALL: {**named, "willContinue": True}}
    for path, value in _iter_leaves("$", call.get("args")):
        argument: JSON = {"jsonPath": path, **value}
        yield {CALL: {"partialArgs": [argument], "willContinue": True}}
    yield {CALL: {}}


def _iter_leaves(path: str, value: JSON) -> Iterator[tuple[str, dict[str, JSON]]]:
    match value:
        case Mapping():
            for key, inner in value.items():
                yield from _iter_leaves(f"{path}.{key}", inner)
        case list():
            for index, inner in enumerate(value):
                yield from _iter_leaves(f"{path}[{index}]", inner)
        case None:
            yield path, {"nullValue": "NULL_VALUE"}
        case bool():
            yield path, {"boolValue": value}
        case str():
            yield path, {"stringValue": value}
        case _:
            yield path, {"numberValue": value}


def _read_candidate(frame: Frame) -> Mapping[str, JSON]:
    candidates = list_or_empty((frame.body or {}).get("candidates"))
    return object_or_empty(candidates[0]) if candidates else {}


def _read_parts(frame: Frame) -> list[Part]:
    content = object_or_empty(_read_candidate(frame).get("content"))
    return [object_or_empty(part) for part in list_or_empty(content.get("parts"))]


def _without_signature(part: Part) -> Part:
    return {k: v for k, v in part.items() if k != SIGNATURE} if CALL in part else part


def _build_content(parts: Sequence[Part]) -> dict[str, JSON]:
    return {"content": {"role": "model", "parts": list(parts)}, "index": 0}


def _with_parts(frame: Frame, parts: Sequence[Part]) -> Frame:
    return _with_candidate(frame, **_build_content(parts))


def _with_candidate(frame: Frame, **fields: JSON) -> Frame:
    """The chunk with these fields of its candidate set; None removes a field."""
    candidate = {**_read_candidate(frame), **fields}
    kept = {key: value for key, value in candidate.items() if value is not None}
    return frame.with_fields(candidates=[kept])


_gemini = StreamFaults(FORMAT)
FAULTS: tuple[Fault, ...] = (
    _gemini.with_hooks(
        "trailing-signature", "", "the signature of a call comes on a trailing part without text",
        StreamRewrite({FORMAT: trailing_signature}, accept_trailing_signature),
    ),
    _gemini(
        "no-finish-reason", "", "no chunk has a finishReason", no_finish_reason, BROKEN_STREAM
    ),
    _gemini(
        "split-calls", "", "arguments come piece by piece as partialArgs with their paths",
        split_calls, GARBLES,
    ),
    _gemini("single-chunk", "", "the whole answer comes in one chunk", single_chunk),
    _gemini(
        "malformed-finish", "Z14", "no call, and the finishReason MALFORMED_FUNCTION_CALL",
        malformed_finish, NO_CALLS_IN_STREAMS,
    ),
)  # fmt: skip
