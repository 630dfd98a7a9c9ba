"""Item ids of the Responses API that tell by themselves which reasoning item they belong to.

Nothing is stored here, yet a call must be refused without the reasoning that led to it. So the ids
of one answer share a stem, and a check sum tells them from ids that were made without reasoning.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import replace

from probes.adapters.json_fields import object_or_empty, text_or_empty
from probes.messages import JSON, Part, Reasoning, Text, ToolCall

FORMAT = "openai_responses"
STEM = 40
_HEX = "0123456789abcdef"


def reasoning_id(rng: random.Random) -> str:
    """An id for a new reasoning item."""
    return _id("rs", "".join(rng.choices(_HEX, k=STEM)))


def link_items(parts: Sequence[Part]) -> list[Part]:
    """The parts with ids that belong to the reasoning item among them, where there is one."""
    items = [part.raw for part in parts if isinstance(part, Reasoning)]
    stem = _stem(text_or_empty(object_or_empty(items[0]).get("id"))) if items else ""
    if not stem:
        return list(parts)
    return [_with_id(part, stem, place) for place, part in enumerate(parts)]


def needed_reasoning(id_: str) -> str:
    """The id of the reasoning item that an item led from, or "" where there was none."""
    stem = _stem(id_)
    return _id("rs", stem) if stem else ""


def _with_id(part: Part, stem: str, place: int) -> Part:
    match part:
        case ToolCall():
            return replace(part, extra={**part.extra, FORMAT: {"id": _id("fc", stem, place)}})
        case Text():
            item: JSON = {"id": _id("msg", stem, place), "status": "completed"}
            return replace(part, extra={**part.extra, FORMAT: {"$item": item}})
        case _:
            return part


def _id(prefix: str, stem: str, place: int = 0) -> str:
    return f"{prefix}_{stem}{place:02x}{_sum(stem)}"


def _stem(id_: str) -> str:
    _, _, told = id_.partition("_")
    stem = told[:STEM]
    return stem if len(told) == STEM + 8 and told.endswith(_sum(stem)) else ""


def _sum(stem: str) -> str:
    return hashlib.sha256(stem.encode("utf-8", "surrogatepass")).hexdigest()[:6]
