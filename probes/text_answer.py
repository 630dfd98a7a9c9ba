"""Parses a model's whole text into visible text, reasoning and calls."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from probes.messages import BrokenCall, Location, ToolCall, ToolSpec
from probes.parsers.base import RawCall
from probes.parsers.reader import TextReader
from probes.parsers.text_items import ReasoningText, TextItem, VisibleText
from probes.resolve.call import resolve_call
from probes.resolve.call_ids import RULES, IdMap

IN_REASONING = "found_in_reasoning"


@dataclass(frozen=True, slots=True)
class TextAnswer:
    """`text` and `reasoning` are verbatim, None if absent; calls are in their order.

    A call inside the reasoning has `found_in_reasoning` among its repairs, and is dropped if the
    visible part makes the same call.
    """

    text: str | None
    reasoning: str | None
    calls: tuple[ToolCall, ...]
    broken: tuple[BrokenCall, ...]


def read_text_answer(
    pieces: Iterable[str],
    tools: Sequence[ToolSpec],
    *,
    format: str = "auto",
    prefill: str = "",
    truncated: bool = False,
) -> TextAnswer:
    """Parse a text that arrives in pieces of any size."""
    reader = TextReader(tools, format=format, prefill=prefill, truncated=truncated)
    items = [item for piece in pieces for item in reader.feed(piece)]
    items += reader.close()
    return resolve_items(items, tools)


def resolve_items(items: Iterable[TextItem], tools: Sequence[ToolSpec]) -> TextAnswer:
    """Build the answer from a reader's items; its calls are resolved against the tools."""
    texts: list[str] = []
    reasoning: list[str] = []
    resolved: list[ToolCall | BrokenCall] = []
    for item in items:
        match item:
            case VisibleText(text):
                texts.append(text)
            case ReasoningText(text):
                reasoning.append(text)
            case RawCall():
                resolved.append(resolve_call(item, tools, position=len(resolved)))
    calls = [call for call in resolved if isinstance(call, ToolCall)]
    visible = "".join(texts)
    # Line breaks between calls belong to the markup, not to the answer.
    visible_text = visible if visible.strip() or not (resolved or reasoning) else ""
    return TextAnswer(
        text=visible_text or None,
        reasoning="".join(reasoning) if reasoning else None,
        calls=_without_drafts(_with_unique_ids(calls)),
        broken=tuple(call for call in resolved if isinstance(call, BrokenCall)),
    )


def _with_unique_ids(calls: Sequence[ToolCall]) -> list[ToolCall]:
    """The calls with the model's own ids, repeated ids suffixed with `_dup`."""
    walk = IdMap(RULES["any"]).walk()
    return [replace(call, id=walk.call(call.id, call.name)) for call in calls]


def _without_drafts(calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
    """The calls without those of the reasoning that the visible part repeats."""
    visible = {_key(call) for call in calls if call.location is Location.CONTENT}
    return tuple(
        call if call.location is Location.CONTENT else _mark_in_reasoning(call)
        for call in calls
        if call.location is Location.CONTENT or _key(call) not in visible
    )


def _key(call: ToolCall) -> tuple[str, str]:
    return call.name, json.dumps(call.input, sort_keys=True)


def _mark_in_reasoning(call: ToolCall) -> ToolCall:
    return replace(call, repairs=(*call.repairs, IN_REASONING))
