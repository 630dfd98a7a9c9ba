"""Calls that are started or announced but never arrive."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from typing_extensions import override

from probes.adapters.json_fields import object_or_empty
from probes.events import Event
from probes.messages import JSON, BrokenCall, Reply, Stop, ToolCall
from probes.outcomes import Metric
from simulators.faults.calls.argument_strings import respell_events, with_text
from simulators.faults.calls.event_bodies import Body, change_frames
from simulators.faults.effects import NOTHING, READER_DECIDES, SILENT, UNREADABLE
from simulators.faults.fault import Effect, Fault
from simulators.faults.text.leak import without_calls
from simulators.vendors.hooks import FaultHooks
from simulators.vendors.spec import VendorRequest


class PhantomCall(FaultHooks):
    """Reports calls in the stop reason, but sends none."""

    @override
    def body(self, body: Mapping[str, JSON], rng: random.Random) -> Mapping[str, JSON]:
        match body:
            case {"choices": [{"message": Mapping() as message} as choice]}:
                kept = {name: value for name, value in message.items() if name != "tool_calls"}
                if "tool_calls" in message:
                    kept["content"] = message.get("content") or ""
                return {**body, "choices": [{**object_or_empty(choice), "message": kept}]}
            case {"type": "message", "content": list(blocks)}:
                return {**body, "content": [block for block in blocks if not _is_tool_use(block)]}
            case _:
                return body

    @override
    def chunks(self, chunks: Sequence[bytes], rng: random.Random) -> Sequence[bytes]:
        dropped: set[JSON] = set()

        def change(frame: Body) -> Body | None:
            match frame:
                case {"choices": [{"delta": {"tool_calls": _}}]}:
                    return None
                case {"type": "content_block_start", "index": int(index), "content_block": block}:
                    if _is_tool_use(block):
                        dropped.add(index)
                case _:
                    pass
            return None if frame.get("index") in dropped else frame

        return change_frames(chunks, change)


class MalformedCall(FaultHooks):
    """Reports its own model's call as malformed and sends nothing of it."""

    @override
    def reply(self, reply: Reply, request: VendorRequest, rng: random.Random) -> Reply:
        if not reply.calls:
            return reply
        raw = reply.calls[0].raw
        # Ollama reports it in the last line of a stream; other formats do not send the part.
        error = f"error parsing tool call: raw='{raw}]', err=invalid character ']' after "
        broken = BrokenCall(f"{raw}]", f"{error}top-level value")
        parts = (*without_calls(reply.parts), broken)
        return replace(reply, parts=parts, stop=Stop.MALFORMED_CALL)


class TruncatedCall(FaultHooks):
    """Ends the answer at the token limit, in the middle of its first call."""

    @override
    def reply(self, reply: Reply, request: VendorRequest, rng: random.Random) -> Reply:
        if not reply.calls:
            return reply
        parts = (*without_calls(reply.parts), _cut_call(reply.calls[0]))
        return replace(reply, parts=parts, stop=Stop.LENGTH)

    @override
    def events(self, events: Sequence[Event], rng: random.Random) -> Sequence[Event]:
        return respell_events(events)

    @override
    def chunks(self, chunks: Sequence[bytes], rng: random.Random) -> Sequence[bytes]:
        return change_frames(chunks, _cut_block)


def _is_tool_use(block: JSON) -> bool:
    return object_or_empty(block).get("type") == "tool_use"


def _cut_call(call: ToolCall) -> ToolCall:
    kept = dict(list(call.input.items())[: len(call.input) // 2])
    text = call.raw[: max(1, len(call.raw) // 2)]
    return with_text(replace(call, input=kept), text, status="incomplete")


def _cut_block(frame: Body) -> Body:
    """Anthropic's stream ends inside the JSON; a whole answer keeps the parsed part."""
    match frame:
        case {"delta": {"type": "input_json_delta", "partial_json": str(text)} as delta}:
            return {**frame, "delta": {**object_or_empty(delta), "partial_json": text[:-1] or "{"}}
        case _:
            return frame


FAULTS = (
    Fault(
        "phantom-finish",
        "Z17",
        "the stop is the one for calls, and no call is there",
        lambda value: PhantomCall(),
        frozenset({"openai", "anthropic"}),
        replace(SILENT, bare_reasoning=1, in_text=NOTHING),
    ),
    Fault(
        "malformed-call",
        "Z14",
        "no call: MALFORMED_FUNCTION_CALL in Gemini's format, an error line in Ollama's stream, "
        "an empty answer under a plain stop elsewhere",
        lambda value: MalformedCall(),
        effect=replace(SILENT, bare_reasoning=1),
    ),
    Fault(
        "truncated",
        "",
        "the stop is the one for the token limit, in the middle of the first call",
        lambda value: TruncatedCall(),
        effect=Effect(
            {**SILENT.metrics, Metric.UNSAFE_BLOCKED: 1}, UNREADABLE, in_text=READER_DECIDES
        ),
    ),
)
