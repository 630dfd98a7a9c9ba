"""Parses a model's whole text into visible text, reasoning and calls."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from probes.messages import Breakage, BrokenCall, Location, ToolCall, ToolSpec
from probes.parsers.base import RawCall
from probes.parsers.diagnosis.find_markup import find_markup
from probes.parsers.markup import CERTAIN, Markup, MarkupReason
from probes.parsers.reader import TextReader
from probes.parsers.text_items import ReasoningText, TextItem, VisibleText
from probes.resolve.call import resolve_call
from probes.resolve.call_ids import RULES, IdMap

IN_REASONING = "found_in_reasoning"


@dataclass(frozen=True, slots=True)
class TextAnswer:
    """`text` and `reasoning` are verbatim, None if absent; calls are in their order.

    `calls` can run; one that ends the reasoning has `found_in_reasoning` among its repairs.
    `markup` is everything else that looks like a call, and why it does not run.
    """

    text: str | None
    reasoning: str | None
    calls: tuple[ToolCall, ...]
    broken: tuple[BrokenCall, ...]
    markup: tuple[Markup, ...] = ()


def read_text_answer(  # noqa: PLR0913 - what is known about a text, by name
    pieces: Iterable[str],
    tools: Sequence[ToolSpec],
    *,
    format: str = "auto",
    prefill: str = "",
    truncated: bool = False,
    turn: int = 0,
    as_written: bool = False,
) -> TextAnswer:
    """Parse a text that arrives in pieces of any size.

    `turn` numbers the texts of one conversation: ids that are minted differ from turn to turn.
    `as_written` is for a judge: calls keep their names and shapes, and need not fit a schema.
    """
    reader = TextReader(tools, format=format, prefill=prefill, truncated=truncated)
    fed: list[str] = []
    items: list[TextItem] = []
    for piece in pieces:
        fed.append(piece)
        items += reader.feed(piece)
    items += reader.close()
    raw_calls = [item for item in items if isinstance(item, RawCall)]
    resolved = [
        resolve_call(raw, tools, as_written=as_written, position=position, turn=turn)
        for position, raw in enumerate(raw_calls)
    ]
    calls = [call for call in resolved if isinstance(call, ToolCall)]
    broken = [
        Markup(raw.format, raw.span, _reason(call), CERTAIN)
        for raw, call in zip(raw_calls, resolved, strict=True)
        if isinstance(call, BrokenCall)
    ]
    diagnosed = find_markup("".join(fed), tools, armed=format)
    read_spans = [*(raw.span for raw in raw_calls), *(item.span for item in reader.withheld)]
    markup = (*reader.withheld, *broken, *_outside(diagnosed, read_spans))
    return TextAnswer(
        text=_visible_text(items),
        reasoning=_reasoning(items),
        calls=tuple(map(_mark_location, _with_unique_ids(calls))),
        broken=tuple(call for call in resolved if isinstance(call, BrokenCall)),
        markup=tuple(sorted(markup, key=lambda item: item.span)),
    )


def _visible_text(items: Sequence[TextItem]) -> str | None:
    visible = "".join(item.text for item in items if isinstance(item, VisibleText))
    # Line breaks between calls belong to the markup, not to the answer.
    is_layout = not visible.strip() and not all(isinstance(item, VisibleText) for item in items)
    return None if is_layout else visible or None


def _reasoning(items: Sequence[TextItem]) -> str | None:
    texts = [item.text for item in items if isinstance(item, ReasoningText)]
    return "".join(texts) if texts else None


def _reason(call: BrokenCall) -> MarkupReason:
    match call.kind:
        case Breakage.TRUNCATED_CALL:
            return MarkupReason.CUT_OFF
        case Breakage.UNKNOWN_TOOL:
            return MarkupReason.UNKNOWN_TOOL
        case _:
            return MarkupReason.UNREADABLE


def _outside(found: Iterable[Markup], spans: Sequence[tuple[int, int]]) -> Iterator[Markup]:
    """The markup that shares no character with any of the spans, which do not overlap."""
    ordered = sorted(spans)
    ends = [end for _, end in ordered]
    for markup in found:
        start, end = markup.span
        next_span = bisect_right(ends, start)
        if next_span == len(ordered) or end <= ordered[next_span][0]:
            yield markup


def _with_unique_ids(calls: Sequence[ToolCall]) -> list[ToolCall]:
    """The calls with the model's own ids, repeated ids suffixed with `_dup`."""
    walk = IdMap(RULES["any"]).walk()
    return [replace(call, id=walk.call(call.id, call.name)) for call in calls]


def _mark_location(call: ToolCall) -> ToolCall:
    if call.location is Location.CONTENT:
        return call
    return replace(call, repairs=(*call.repairs, IN_REASONING))
