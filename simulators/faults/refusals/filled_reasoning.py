"""A vendor that knows the reasoning it gave, and takes no other in its place."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from functools import partial

from typing_extensions import override

from probes.adapters.json_fields import list_or_empty, object_or_empty
from probes.messages import JSON, Part, Reasoning, ReasoningKind, Reply
from simulators.faults.refusals.chat_reasoning import FIELDS, refuse_missing
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
    """Marks the reasoning it gives, so that it can be known without being remembered."""

    @override
    def reply(self, reply: Reply, request: VendorRequest, rng: random.Random) -> Reply:
        return replace(reply, parts=tuple(map(_marked, reply.parts)))


def _marked(part: Part) -> Part:
    if not isinstance(part, Reasoning):
        return part
    text = f"{part.text}\n[{sign_text(part.text)}]"
    if part.kind is ReasoningKind.DETAILS:
        details: list[JSON] = [{**object_or_empty(item), "text": text} for item in _items(part)]
        return replace(part, text=text, raw=details)
    return replace(part, text=text) if part.raw in FIELDS else part


def _items(part: Reasoning) -> list[JSON]:
    # The vendors here give all of their thoughts in one entry.
    return list_or_empty(part.raw)[:1]


def _is_known(said: str | None) -> bool:
    text, _, mark = (said or "").rpartition("\n[")
    # Thoughts between tags are part of the content, which nobody vouches for.
    return mark == f"{sign_text(text)}]" or "</think>" in (said or "")


def _need_own(body: Body) -> None:
    refuse_missing(body, _is_known)


REFUSES_FILLER = refusal_fault(
    "refuses-filler",
    "Z03",
    "400 where the reasoning that comes back is not what the vendor gave, such as a full stop",
    ReasoningMark(
        {"openai": check_while_thinking(_need_own)},
        partial(with_thinking, replay=ReplayDuty.ALL_TURNS),
    ),
)
