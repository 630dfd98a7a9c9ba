"""What every leak shares: a call that leaves as text, and what a prober finds of it."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from typing_extensions import override

from probes.messages import JSON, Part, Reasoning, ReasoningKind, Reply, Stop, Text, ToolCall
from probes.outcomes import Metric
from simulators.faults.fault import Effect, Fault
from simulators.faults.text.call_writers import SHAPES, Writer
from simulators.vendors.hooks import FaultHooks
from simulators.vendors.reply_style import sign_text
from simulators.vendors.spec import VendorRequest


@dataclass(frozen=True, slots=True)
class Leak(FaultHooks):
    """All calls of an answer leave as text behind what else it says."""

    write: Writer

    @override
    def reply(self, reply: Reply, request: VendorRequest, rng: random.Random) -> Reply:
        return with_text(reply, self.write(reply.calls)) if reply.calls else reply


def leak_fault(name: str, row: str, shows: str, parser: str, write: Writer) -> Fault:
    """A leak that the parser of that name can read."""
    fields: dict[str, JSON] = {"tool_call_format": SHAPES[parser], "parser": parser}
    effect = Effect({Metric.PARSE_SUCCESS: 1, Metric.LEAK: 1}, fields)
    hooks = Leak(write)
    return Fault(name, row, shows, lambda value: hooks, effect=effect)


def with_text(reply: Reply, text: str) -> Reply:
    """The reply with a text in place of its calls."""
    parts = without_calls(reply.parts)
    return replace(reply, parts=(*parts, Text(text)), stop=Stop.END)


def without_calls(parts: Sequence[Part]) -> tuple[Part, ...]:
    return tuple(part for part in parts if not isinstance(part, ToolCall))


def keep_only_reasoning(reply: Reply, more: str = "") -> Reply:
    """The reply's reasoning alone, with more of it. A model that shows none begins to."""
    shown = next((part for part in reply.parts if isinstance(part, Reasoning)), None)
    if shown is None:
        names = ", ".join(call.name for call in reply.calls)
        thought = f"The user wants something done. I should use {names}."
        shown = Reasoning(thought, ReasoningKind.FIELD, "reasoning_content")
    return replace(reply, parts=(_rethought(shown, shown.text + more),), stop=Stop.END)


def _rethought(reasoning: Reasoning, text: str) -> Reasoning:
    raw = reasoning.raw
    if isinstance(raw, Mapping):
        match reasoning.kind:
            case ReasoningKind.BLOCK:
                raw = {**raw, "thinking": text, "signature": sign_text(text)}
            case ReasoningKind.ITEM:
                raw = {**raw, "summary": [{"type": "summary_text", "text": text}]}
            case _:
                raw = {**raw, "text": text}
    return replace(reasoning, text=text, raw=raw)
