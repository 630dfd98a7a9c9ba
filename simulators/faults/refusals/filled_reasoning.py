"""A vendor that recognises its own reasoning and accepts no substitute."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from functools import partial

from typing_extensions import override

from probes.adapters.json_fields import list_or_empty, object_or_empty
from probes.messages import JSON, Part, Reasoning, ReasoningKind, Reply
from simulators.faults.refusals.chat_reasoning import FIELDS, require_reasoning
from simulators.faults.refusals.refusal import (
    Body,
    RefusalCheck,
    check_while_thinking,
    refusal_fault,
)
from simulators.faults.thinking_models import with_thinking
from simulators.vendors.model_traits import ReplayDuty
from simulators.vendors.reply_style import sign_text
from simulators.vendors.spec import VendorRequest


@dataclass(frozen=True, slots=True)
class ReasoningMark(RefusalCheck):
    """Marks the reasoning it sends, to recognise it without storing it."""

    @override
    def reply(self, reply: Reply, request: VendorRequest, rng: random.Random) -> Reply:
        return replace(reply, parts=tuple(map(_mark_part, reply.parts)))


def _mark_part(part: Part) -> Part:
    if not isinstance(part, Reasoning):
        return part
    text = f"{part.text}\n[{sign_text(part.text)}]"
    if part.kind is ReasoningKind.DETAILS:
        details: list[JSON] = [
            {**object_or_empty(item), "text": text} for item in _first_detail(part)
        ]
        return replace(part, text=text, raw=details)
    return replace(part, text=text) if part.raw in FIELDS else part


def _first_detail(part: Reasoning) -> list[JSON]:
    # The simulated vendors send all reasoning in one entry.
    return list_or_empty(part.raw)[:1]


def _is_own_reasoning(reasoning: str | None) -> bool:
    text, _, mark = (reasoning or "").rpartition("\n[")
    # Reasoning between tags is part of the content, which is not marked.
    return mark == f"{sign_text(text)}]" or "</think>" in (reasoning or "")


def _require_own_reasoning(body: Body) -> None:
    require_reasoning(body, _is_own_reasoning)


REFUSES_FILLER = refusal_fault(
    "refuses-filler",
    "Z03",
    "400 where the reasoning that comes back is not what the vendor gave, such as a full stop",
    ReasoningMark(
        {"openai": check_while_thinking(_require_own_reasoning)},
        partial(with_thinking, replay=ReplayDuty.ALL_TURNS),
    ),
)
