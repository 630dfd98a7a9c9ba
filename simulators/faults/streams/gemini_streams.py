"""Faults and rare shapes of Gemini's stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from probes.adapters.json_fields import list_or_empty, object_or_empty
from probes.messages import JSON
from simulators.faults.fault import Fault
from simulators.faults.streams.stream_fault import LOSES, NO_VERDICT, StreamFaults, StreamRewrite
from simulators.faults.streams.stream_frames import Frame
from simulators.vendors.closure_rules import read_contents, read_parts
from simulators.vendors.spec import Spec, VendorRequest

FORMAT = "gemini"
CALL = "functionCall"
SIGNATURE = "thoughtSignature"
Part = Mapping[str, JSON]


def trailing_signature(frames: list[Frame]) -> list[Frame]:
    """The signature of a call comes behind it, on an empty text."""
    signatures = [p[SIGNATURE] for f in frames for p in _parts(f) if CALL in p and SIGNATURE in p]
    bare = [_with_parts(frame, [_bare(part) for part in _parts(frame)]) for frame in frames]
    trailing = [{"text": "", SIGNATURE: signature} for signature in signatures]
    return [*bare[:-1], _with_parts(bare[-1], [*_parts(bare[-1]), *trailing])]


def no_finish_reason(frames: list[Frame]) -> list[Frame]:
    return [_with_candidate(frame, finishReason=None) for frame in frames]


def split_calls(frames: list[Frame]) -> list[Frame]:
    """Arguments come by themselves, each with its path, in chunks behind the name."""
    return [piece for frame in frames for piece in _split(frame)]


def single_chunk(frames: list[Frame]) -> list[Frame]:
    """Everything in one chunk, finish reason included."""
    parts = [part for frame in frames for part in _parts(frame)]
    return [_with_parts(frames[-1], parts)]


def malformed_finish(frames: list[Frame]) -> list[Frame]:
    """No call comes, and the finish reason blames the model's own."""
    if not any(CALL in part for frame in frames for part in _parts(frame)):
        return frames
    bare = [
        _with_parts(frame, [part for part in _parts(frame) if CALL not in part]) for frame in frames
    ]
    last = _with_candidate(bare[-1], finishReason="MALFORMED_FUNCTION_CALL")
    return [*(frame for frame in bare[:-1] if _parts(frame)), last]


def takes_trailing(spec: Spec) -> Spec:
    """A server that signs behind a call takes the signature back where it put it."""
    rule = spec.rule
    if rule is None:
        return spec

    def lenient(request: VendorRequest) -> None:
        contents = [_moved(content) for content in read_contents(request.body)]
        rule(replace(request, body={**request.body, "contents": contents}))

    return replace(spec, rule=lenient)


def _moved(content: Mapping[str, JSON]) -> Mapping[str, JSON]:
    parts: list[Part] = list(read_parts(content))
    calls = [at for at, part in enumerate(parts) if CALL in part]
    trailing = [part[SIGNATURE] for part in parts if CALL not in part and SIGNATURE in part]
    if calls and trailing:
        parts[calls[0]] = {SIGNATURE: trailing[0], **parts[calls[0]]}
    return {**content, "parts": parts}


def _split(frame: Frame) -> Iterator[Frame]:
    rest = [part for part in _parts(frame) if CALL not in part]
    for part in _parts(frame):
        if CALL in part:
            for piece in _pieces(part):
                yield replace(frame, body={"candidates": [_content([piece])]})
    if rest or "finishReason" in _candidate(frame):
        yield _with_parts(frame, rest)


def _pieces(part: Part) -> Iterator[Part]:
    call = object_or_empty(part[CALL])
    named = {key: value for key, value in call.items() if key != "args"}
    yield {**part, CALL: {**named, "willContinue": True}}
    for path, value in _leaves("$", call.get("args")):
        argument: JSON = {"jsonPath": path, **value}
        yield {CALL: {"partialArgs": [argument], "willContinue": True}}
    yield {CALL: {}}


def _leaves(path: str, value: JSON) -> Iterator[tuple[str, dict[str, JSON]]]:
    match value:
        case Mapping():
            for key, inner in value.items():
                yield from _leaves(f"{path}.{key}", inner)
        case list():
            for at, inner in enumerate(value):
                yield from _leaves(f"{path}[{at}]", inner)
        case None:
            yield path, {"nullValue": "NULL_VALUE"}
        case bool():
            yield path, {"boolValue": value}
        case str():
            yield path, {"stringValue": value}
        case _:
            yield path, {"numberValue": value}


def _candidate(frame: Frame) -> Mapping[str, JSON]:
    candidates = list_or_empty((frame.body or {}).get("candidates"))
    return object_or_empty(candidates[0]) if candidates else {}


def _parts(frame: Frame) -> list[Part]:
    content = object_or_empty(_candidate(frame).get("content"))
    return [object_or_empty(part) for part in list_or_empty(content.get("parts"))]


def _bare(part: Part) -> Part:
    return {k: v for k, v in part.items() if k != SIGNATURE} if CALL in part else part


def _content(parts: Sequence[Part]) -> dict[str, JSON]:
    return {"content": {"role": "model", "parts": list(parts)}, "index": 0}


def _with_parts(frame: Frame, parts: Sequence[Part]) -> Frame:
    return _with_candidate(frame, **_content(parts))


def _with_candidate(frame: Frame, **fields: JSON) -> Frame:
    """The chunk with these fields of its candidate set; None takes one away."""
    candidate = {**_candidate(frame), **fields}
    given = {key: value for key, value in candidate.items() if value is not None}
    return frame.having(candidates=[given])


_gemini = StreamFaults(FORMAT)
FAULTS: tuple[Fault, ...] = (
    _gemini.with_hooks(
        "trailing-signature", "", "the signature of a call comes on a trailing part without text",
        StreamRewrite({FORMAT: trailing_signature}, takes_trailing),
    ),
    _gemini(
        "no-finish-reason", "", "no chunk has a finishReason", no_finish_reason, NO_VERDICT
    ),
    _gemini(
        "split-calls", "", "arguments come piece by piece as partialArgs with their paths",
        split_calls, LOSES,
    ),
    _gemini("single-chunk", "", "the whole answer comes in one chunk", single_chunk),
    _gemini(
        "malformed-finish", "Z14", "no call, and the finishReason MALFORMED_FUNCTION_CALL",
        malformed_finish, LOSES,
    ),
)  # fmt: skip
