"""Answers with other text, or nothing, in place of a call."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from typing_extensions import override

from probes.messages import JSON, Reasoning, ReasoningKind, Reply, Stop, Text
from probes.outcomes import Metric
from simulators.faults.calls import lost_calls, server_parse_errors
from simulators.faults.effects import NO_CALLS, SILENCE
from simulators.faults.fault import Effect, Fault
from simulators.faults.text.leak import keep_only_reasoning
from simulators.model.answers import Answer
from simulators.vendors.hooks import FaultHooks
from simulators.vendors.spec import VendorRequest

TAG = "<tool_call>"


@dataclass(frozen=True, slots=True)
class FixedText(FaultHooks):
    """Sends a text in place of a call; `{names}` in it is replaced by the tools' names."""

    text: str

    @override
    def answer(self, answer: Answer, request: VendorRequest, rng: random.Random) -> Answer:
        if not answer.tool_requests:
            return answer
        names = " and ".join(tool_request.tool.name for tool_request in answer.tool_requests)
        return replace(answer, text=self.text.replace("{names}", names), tool_requests=())


@dataclass(frozen=True, slots=True)
class ReplyChange(FaultHooks):
    """Replaces a reply with calls."""

    change: Callable[[Reply], Reply]

    @override
    def reply(self, reply: Reply, request: VendorRequest, rng: random.Random) -> Reply:
        return self.change(reply) if reply.calls else reply


class TagCut(FaultHooks):
    """Cuts an answer's text where it mentions the tag, as if a call started there."""

    @override
    def reply(self, reply: Reply, request: VendorRequest, rng: random.Random) -> Reply:
        for place, part in enumerate(reply.parts):
            if isinstance(part, Text) and TAG in part.text:
                kept = part.text.partition(TAG)[0]
                parts = (*reply.parts[:place], *([replace(part, text=kept)] if kept else []))
                return replace(reply, parts=parts, stop=Stop.END)
        return reply


def _empty_reasoning(reply: Reply) -> Reply:
    """Keep the reasoning field, but empty, which differs from no field."""
    parts = tuple(
        replace(part, text="") if isinstance(part, Reasoning) and _is_field(part) else part
        for part in reply.parts
    )
    return replace(reply, parts=parts)


def _is_field(part: Reasoning) -> bool:
    return part.kind is ReasoningKind.FIELD


def _empty_reply(reply: Reply) -> Reply:
    return replace(reply, parts=(), stop=Stop.END)


def _silent_fault(name: str, row: str, symptom: str, hooks: FaultHooks, **more: float) -> Fault:
    # A model that talks does so in every format; an answer is lost only on its way.
    prompted: Mapping[str, JSON] = (
        {"prompted_tools": "none"} if isinstance(hooks, FixedText) else {}
    )
    metrics: Mapping[Metric, float] = {
        **SILENCE,
        **{Metric(key): rate for key, rate in more.items()},
    }
    fields: Mapping[str, JSON] = {**NO_CALLS, **prompted}
    return Fault(name, row, symptom, lambda value: hooks, effect=Effect(metrics, fields))


FAULTS = (
    Fault(
        "empty-reasoning",
        "Z05",
        "a call with reasoning that is empty, and not absent, for models that show it in a field",
        lambda value: ReplyChange(_empty_reasoning),
        frozenset({"openai", "ollama"}),
    ),
    _silent_fault(
        "prose",
        "",
        "the model talks about the call and does not make it",
        FixedText("Of course. I would use {names} for that and tell you what comes back."),
    ),
    _silent_fault(
        "refuses",
        "",
        "a polite refusal where a call is owed, with a plain stop",
        FixedText("I'm sorry, but I can't help with that."),
    ),
    _silent_fault(
        "empty", "", "neither text nor a call, with a plain stop", ReplyChange(_empty_reply)
    ),
    _silent_fault(
        "reasoning-only",
        "",
        "reasoning and nothing else",
        ReplyChange(keep_only_reasoning),
        reasoning_only=1,
    ),
    Fault(
        "cuts-at-tag",
        "Z26",
        "a text that mentions <tool_call> ends right before it",
        lambda value: TagCut(),
        effect=Effect(fields={"prompted_tools": "json_text"}),
    ),
    *lost_calls.FAULTS,
    *server_parse_errors.FAULTS,
)
