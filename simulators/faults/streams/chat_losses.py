"""Chat Completions streams that lose parts of the whole answer."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

from typing_extensions import override

from probes.adapters.json_fields import list_or_empty, object_or_empty, text_or_empty
from probes.messages import JSON
from probes.outcomes import Metric
from simulators.faults.effects import NOTHING, SILENT
from simulators.faults.fault import Effect, Fault
from simulators.faults.streams.chat_chunks import (
    StreamedCall,
    parse_arguments,
    read_finish,
    read_stream,
    rewrite_calls,
    with_finish,
)
from simulators.faults.streams.stream_fault import (
    GARBLES,
    LOSES_CALLS,
    NO_CALLS_IN_STREAMS,
    StreamFaults,
    StreamRewrite,
)
from simulators.faults.streams.stream_frames import Frame
from simulators.vendors.reply_style import arguments_text

LOST_CHARACTERS = 3
# Generation stopped here: there is no name yet, so no call.
OPENER = "<tool_call>\n<function"


def lost_tail(call: StreamedCall) -> StreamedCall:
    """Drop more than a closing brace, which alone could be guessed."""
    text = call.text
    return call.with_text(text[: max(1, len(text) - LOST_CHARACTERS)])


def dropped_deltas(call: StreamedCall) -> StreamedCall:
    """Keep the first half of the parameters, as valid JSON."""
    arguments = parse_arguments(call.text)
    if not arguments:
        return call
    kept = list(arguments)[: len(arguments) // 2]
    return call.with_text(arguments_text({name: arguments[name] for name in kept}))


def concatenated(frames: list[Frame]) -> list[Frame]:
    """Send the arguments of all calls under the index and id of the first."""
    stream = read_stream(frames)
    if not stream.calls:
        return frames
    first, *others = stream.calls
    more = [first.piece(call.text) for call in others]
    return replace(stream, calls=(StreamedCall(first.head, (*first.rest, *more)),)).frames


def last_invoke_only(frames: list[Frame]) -> list[Frame]:
    stream = read_stream(frames)
    return replace(stream, calls=tuple(call.with_index(0) for call in stream.calls[-1:])).frames


def reordered_calls(frames: list[Frame]) -> list[Frame]:
    stream = read_stream(frames)
    last_first = [call.with_index(index) for index, call in enumerate(reversed(stream.calls))]
    return replace(stream, calls=tuple(last_first)).frames


def phantom_stream(frames: list[Frame]) -> list[Frame]:
    return replace(read_stream(frames), calls=()).frames


def truncated_opener(frames: list[Frame]) -> list[Frame]:
    """Hold the opener back until the call is known, and never send it."""
    stream = read_stream(frames)
    if not stream.calls:
        return frames
    after = (
        with_finish(frame, "length") if read_finish(frame) else frame for frame in stream.after
    )
    return replace(stream, calls=(), after=tuple(after)).frames


@dataclass(frozen=True, slots=True)
class TruncatedOpener(StreamRewrite):
    """Stops generation in the opener of a call, which only the whole answer contains."""

    @override
    def body(self, body: Mapping[str, JSON], rng: random.Random) -> Mapping[str, JSON]:
        choices = [object_or_empty(choice) for choice in list_or_empty(body.get("choices"))]
        return {**body, "choices": [_cut_choice(choice) for choice in choices]} if choices else body


def _cut_choice(choice: Mapping[str, JSON]) -> Mapping[str, JSON]:
    message = object_or_empty(choice.get("message"))
    if not message.get("tool_calls"):
        return choice
    kept = {key: value for key, value in message.items() if key != "tool_calls"}
    content = text_or_empty(message.get("content")) + OPENER
    return {**choice, "message": {**kept, "content": content}, "finish_reason": "length"}


_chat = StreamFaults("openai")
FAULTS: tuple[Fault, ...] = (
    _chat(
        "lost-tail", "Z23", "the last characters of the streamed arguments are missing",
        rewrite_calls(lost_tail), GARBLES,
    ),
    _chat(
        "dropped-deltas", "Z71", "the second half of a call's parameters is not streamed",
        rewrite_calls(dropped_deltas), GARBLES,
    ),
    _chat(
        "concatenated", "Z19", "calls under one index and one id, their arguments run together",
        concatenated, GARBLES,
    ),
    _chat(
        "last-invoke-only", "Z71", "only the last of several calls is streamed",
        last_invoke_only, LOSES_CALLS,
    ),
    _chat(
        "reordered-calls", "", "several calls are streamed in the opposite order",
        reordered_calls, GARBLES,
    ),
    _chat(
        "phantom-stream", "Z17", "the stream's finish reason is tool_calls, and it has none",
        phantom_stream, NO_CALLS_IN_STREAMS,
    ),
    _chat.with_hooks(
        "truncated-opener", "Z30",
        "a call cut off in its opener: text in the whole answer, nothing at all in the stream",
        TruncatedOpener({"openai": truncated_opener}),
        Effect(
            {**SILENT.metrics, Metric.LEAK: None, Metric.UNSAFE_BLOCKED: None},
            SILENT.fields,
            bare_reasoning=None,
            in_text=NOTHING,
        ),
    ),
)  # fmt: skip
