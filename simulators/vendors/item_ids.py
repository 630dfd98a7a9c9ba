"""Item ids of the Responses API that encode the reasoning item they belong to.

Nothing is stored here, yet a call must be refused without the reasoning that led to it. So the ids
of one answer share a stem, and a checksum separates them from ids of answers without reasoning.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import replace

from probes.adapters.json_fields import object_or_empty, text_or_empty
from probes.messages import JSON, Part, Reasoning, Text, ToolCall

FORMAT = "openai_responses"
STEM_LENGTH = 40
_HEX = "0123456789abcdef"


def make_reasoning_id(rng: random.Random) -> str:
    """An id for a new reasoning item."""
    return _make_id("rs", "".join(rng.choices(_HEX, k=STEM_LENGTH)))


def link_items(parts: Sequence[Part]) -> list[Part]:
    """The parts with ids derived from the reasoning item among them, if there is one."""
    items = [part.raw for part in parts if isinstance(part, Reasoning)]
    stem = _read_stem(text_or_empty(object_or_empty(items[0]).get("id"))) if items else ""
    if not stem:
        return list(parts)
    return [_with_id(part, stem, place) for place, part in enumerate(parts)]


def required_reasoning_id(id_: str) -> str:
    """The id of the reasoning item that led to an item, or "" if there was none."""
    stem = _read_stem(id_)
    return _make_id("rs", stem) if stem else ""


def _with_id(part: Part, stem: str, place: int) -> Part:
    match part:
        case ToolCall():
            return replace(part, extra={**part.extra, FORMAT: {"id": _make_id("fc", stem, place)}})
        case Text():
            item: JSON = {"id": _make_id("msg", stem, place), "status": "completed"}
            return replace(part, extra={**part.extra, FORMAT: {"$item": item}})
        case _:
            return part


def _make_id(prefix: str, stem: str, place: int = 0) -> str:
    return f"{prefix}_{stem}{place:02x}{_checksum(stem)}"


def _read_stem(id_: str) -> str:
    _, _, suffix = id_.partition("_")
    stem = suffix[:STEM_LENGTH]
    return stem if len(suffix) == STEM_LENGTH + 8 and suffix.endswith(_checksum(stem)) else ""


def _checksum(stem: str) -> str:
    return hashlib.sha256(stem.encode("utf-8", "surrogatepass")).hexdigest()[:6]
