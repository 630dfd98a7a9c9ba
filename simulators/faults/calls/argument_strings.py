"""Malformed argument strings, for the formats that send arguments as a string."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from typing_extensions import override

from probes.adapters.json_fields import own_inner_fields
from probes.events import Event, PartDelta, PartEnded
from probes.messages import JSON, Extra, Reply, ToolCall
from probes.outcomes import Metric
from simulators.faults.effects import NOTHING, UNREADABLE
from simulators.faults.fault import Effect, Fault
from simulators.faults.text.json_writers import as_json
from simulators.vendors.hooks import FaultHooks
from simulators.vendors.reply_stream import PIECE_LENGTH
from simulators.vendors.spec import VendorRequest

STRING_FORMATS = frozenset({"openai", "openai_responses"})


@dataclass(frozen=True, slots=True)
class ArgumentSpelling(FaultHooks):
    """Writes every call's arguments with the fault's own function."""

    spell: Callable[[str], str]

    @override
    def reply(self, reply: Reply, request: VendorRequest, rng: random.Random) -> Reply:
        parts = (
            with_text(part, self.spell(part.raw)) if isinstance(part, ToolCall) else part
            for part in reply.parts
        )
        return replace(reply, parts=tuple(parts))

    @override
    def events(self, events: Sequence[Event], rng: random.Random) -> Sequence[Event]:
        return respell_events(events)


class StringInput(FaultHooks):
    """Sends the input of whole Anthropic answers as a string; in streams it is text anyway."""

    @override
    def body(self, body: Mapping[str, JSON], rng: random.Random) -> Mapping[str, JSON]:
        blocks = body.get("content")
        if body.get("type") != "message" or not isinstance(blocks, list):
            return body
        return {**body, "content": [_with_string_input(block) for block in blocks]}


def _with_string_input(block: JSON) -> JSON:
    if isinstance(block, Mapping) and block.get("type") == "tool_use":
        return {**block, "input": as_json(block.get("input"))}
    return block


def with_text(call: ToolCall, text: str, **item_fields: JSON) -> ToolCall:
    """The call with another argument text, which formats that send an object ignore.

    `item_fields` are set on the call's item in the Responses format.
    """
    own: Extra = {
        "openai": {"$function": {"arguments": text}},
        "openai_responses": {"arguments": text, **item_fields},
    }
    return replace(call, extra={**call.extra, **own})


def respell_events(events: Sequence[Event]) -> list[Event]:
    """The events with the replaced texts in their deltas, as Chat Completions streams them."""
    texts = {
        event.index: text
        for event in events
        if isinstance(event, PartEnded) and (text := _argument_text(event)) is not None
    }
    return [changed for event in events for changed in _respell_event(event, texts)]


def _argument_text(event: PartEnded) -> str | None:
    extra = event.part.extra if isinstance(event.part, ToolCall) else {}
    text = own_inner_fields(extra, "openai", "function").get("arguments")
    return text if isinstance(text, str) else None


def _respell_event(event: Event, texts: Mapping[int, str]) -> Iterator[Event]:
    match event:
        case PartDelta() if event.index in texts:
            return
        case PartEnded(part=ToolCall() as call) if event.index in texts:
            text = texts[event.index]
            for begin in range(0, len(text), PIECE_LENGTH):
                yield PartDelta(event.index, text[begin : begin + PIECE_LENGTH])
            # Repeated at the end of the call, the text would be appended to what was streamed.
            extra = {name: own for name, own in call.extra.items() if name != "openai"}
            yield PartEnded(event.index, replace(call, extra=extra))
        case _:
            yield event


def _without_quotes(text: str) -> str:
    """Invalid JSON: the quotes of the first key are missing, and the end is broken."""
    return text.replace('{"', "{", 1).replace('":', ":", 1).removesuffix("}") + ",,}"


_EFFECT = Effect({Metric.PARSE_SUCCESS: 1, Metric.UNSAFE_BLOCKED: 1}, UNREADABLE, in_text=NOTHING)
FAULTS = (
    Fault(
        "invalid-json",
        "",
        "the argument string is not JSON",
        lambda value: ArgumentSpelling(_without_quotes),
        STRING_FORMATS,
        _EFFECT,
    ),
    Fault(
        "double-encoded",
        "Z50",
        "the argument string holds a JSON string that holds the arguments",
        lambda value: ArgumentSpelling(as_json),
        STRING_FORMATS,
        _EFFECT,
    ),
    Fault(
        "string-input",
        "",
        "the input of whole answers is a string that holds the arguments",
        lambda value: StringInput(),
        frozenset({"anthropic"}),
    ),
)
