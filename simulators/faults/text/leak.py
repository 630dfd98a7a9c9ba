"""Shared by all leaks: a call sent as text, and the effect that a prober finds."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from typing_extensions import override

from probes.adapters.json_fields import list_or_empty, object_or_empty
from probes.messages import JSON, Part, Reasoning, ReasoningKind, Reply, Stop, Text, ToolCall
from probes.outcomes import Metric
from simulators.faults.effects import NOTHING, ONE_CALL
from simulators.faults.fault import Effect, Fault
from simulators.faults.text.call_writers import SHAPES, Writer
from simulators.vendors.hooks import FaultHooks
from simulators.vendors.reply_style import sign_text
from simulators.vendors.spec import VendorRequest

LEAKED: Mapping[Metric, float | None] = {Metric.PARSE_SUCCESS: 1, Metric.LEAK: 1}
# The last call of every answer is stopped: a turn with one call has none, and others have a format.
CUT_LAST = Effect(
    {**LEAKED, Metric.UNSAFE_BLOCKED: None, Metric.PARALLEL_DOWNGRADE: 1},
    {
        **ONE_CALL,
        "schema_level": "unknown",
        "tool_call_format": "unsettled",
        "reasoning_replay": "unknown",
        "supports_streaming_tool_use": None,
        "streaming": "unknown",
        "error_repair": "unknown",
        "tool_choice": ["none"],
    },
    in_text=NOTHING,
)


@dataclass(frozen=True, slots=True)
class Leak(FaultHooks):
    """Sends all calls of an answer as text after its other parts."""

    write: Writer

    @override
    def reply(self, reply: Reply, request: VendorRequest, rng: random.Random) -> Reply:
        return with_text(reply, self.write(reply.calls)) if reply.calls else reply


def leak_fault(  # noqa: PLR0913 -- an entry of the registry
    name: str, row: str, symptom: str, parser: str, write: Writer, *, cuts_last: bool = False
) -> Fault:
    """A leak that the parser of that name can parse; it stops a last call that is not closed."""
    fields: dict[str, JSON] = {"tool_call_format": SHAPES[parser], "parser": parser}
    effect = CUT_LAST if cuts_last else Effect(LEAKED, fields, in_text=NOTHING)
    hooks = Leak(write)
    return Fault(name, row, symptom, lambda value: hooks, effect=effect)


def with_text(reply: Reply, text: str) -> Reply:
    """The reply with a text in place of its calls."""
    parts = without_calls(reply.parts)
    return replace(reply, parts=(*parts, Text(text)), stop=Stop.END)


def without_calls(parts: Sequence[Part]) -> tuple[Part, ...]:
    return tuple(part for part in parts if not isinstance(part, ToolCall))


def keep_only_reasoning(reply: Reply, extra_thought: str = "") -> Reply:
    """Only the reply's reasoning, with text appended. A model that shows none gets some."""
    reasoning = next((part for part in reply.parts if isinstance(part, Reasoning)), None)
    if reasoning is None:
        names = ", ".join(call.name for call in reply.calls)
        thought = f"The user wants something done. I should use {names}."
        reasoning = Reasoning(thought, ReasoningKind.FIELD, "reasoning_content")
    return replace(
        reply, parts=(_with_thought(reasoning, reasoning.text + extra_thought),), stop=Stop.END
    )


def _with_thought(reasoning: Reasoning, text: str) -> Reasoning:
    raw = reasoning.raw
    if isinstance(raw, Mapping):
        match reasoning.kind:
            case ReasoningKind.BLOCK:
                raw = {**raw, "thinking": text, "signature": sign_text(text)}
            case ReasoningKind.ITEM:
                raw = {**raw, "summary": [{"type": "summary_text", "text": text}]}
            case _:
                raw = {**raw, "text": text}
    elif reasoning.kind is ReasoningKind.DETAILS:
        # The simulated vendors send all reasoning in one entry.
        raw = [{**object_or_empty(entry), "text": text} for entry in list_or_empty(raw)[:1]]
    return replace(reasoning, text=text, raw=raw)
