"""Finds everything in a text that shows a call, whether or not it is a call that runs.

Execution (`reader.py`) decides which calls may run, and is narrow. Diagnosis says whether a text
shows a call at all, in any format and any place, so that a call which leaked in an unknown format
is not taken for an answer in prose. Nothing that is found here is ever run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from probes.messages import ToolSpec
from probes.parsers.diagnosis.call_candidates import CallEnds, Candidate
from probes.parsers.diagnosis.declared_names import DeclaredNames
from probes.parsers.diagnosis.json_markup import find_undeclared_call
from probes.parsers.diagnosis.known_markup import KnownMarkup
from probes.parsers.diagnosis.text_regions import TextRegions
from probes.parsers.diagnosis.unknown_markup import UnknownMarkup
from probes.parsers.markup import (
    ENVELOPE,
    MENTIONED,
    SHOWN,
    SHOWS_CALL,
    UNKNOWN,
    Markup,
    MarkupReason,
)

MAX_MARKUP = 1000
# How far behind a call words are looked for.
_LOOK_BEHIND = 200


def find_markup(text: str, tools: Sequence[ToolSpec] = (), *, armed: str = "auto") -> list[Markup]:
    """All markup of calls in a whole text, in order, at most MAX_MARKUP.

    Without tools, any name counts in a known format, and no unknown format can be told. `armed` is
    the format that execution reads. A call that runs is found as well: the reason only says what
    speaks against it, and is `unreadable` where nothing else does.
    """
    ends, names = CallEnds(text), DeclaredNames(tools)
    regions = TextRegions(text)
    known = list(_first(KnownMarkup(ends, names).find()))
    unknown = _first(UnknownMarkup(ends, names).find(_spans(known)))
    found = [*known, *unknown]
    if names and not _spans(found):
        # Nothing else shows a call.
        found += filter(None, [find_undeclared_call(ends)])
    candidates = sorted(found, key=lambda candidate: candidate.start)[:MAX_MARKUP]
    return [
        _markup(text, candidate, regions, armed=armed, following=following)
        for candidate, following in zip(candidates, (*candidates[1:], None), strict=False)
    ]


def find_shown_call(
    text: str, tools: Sequence[ToolSpec], *, is_reasoning: bool = False
) -> Markup | None:
    """The first markup that shows a call of the model, rather than speaking of one."""
    markup = find_markup(text, tools)
    if is_reasoning:
        markup = [_in_reasoning(item) for item in markup]
    return next((item for item in markup if item.confidence >= SHOWS_CALL), None)


def _in_reasoning(markup: Markup) -> Markup:
    confidence = _confidence(markup.confidence, MarkupReason.IN_REASONING)
    return replace(markup, reason=MarkupReason.IN_REASONING, confidence=confidence)


def _first(candidates: Iterator[Candidate]) -> Iterator[Candidate]:
    for count, candidate in enumerate(candidates):
        if count >= MAX_MARKUP:
            return
        yield candidate


def _spans(candidates: Iterable[Candidate]) -> list[tuple[int, int]]:
    return [(item.start, item.end) for item in candidates if item.level > MENTIONED]


def _markup(
    text: str,
    candidate: Candidate,
    regions: TextRegions,
    *,
    armed: str,
    following: Candidate | None,
) -> Markup:
    region = None if candidate.is_fence else regions.find(candidate.start)
    place = region.reason if region else None
    stop = following.start if following else len(text)
    reason = place or _reason(text, candidate, armed, stop)
    span = (candidate.start, candidate.end)
    return Markup(candidate.format, span, reason, _confidence(candidate.level, place))


def _confidence(level: float, place: MarkupReason | None) -> float:
    match place:
        case None:
            return level
        case MarkupReason.FENCED:
            return min(level, SHOWN)
        case MarkupReason.IN_REASONING:
            return min(level, SHOWN if level >= ENVELOPE else MENTIONED)
        case _:
            return MENTIONED


def _reason(text: str, candidate: Candidate, armed: str, stop: int) -> MarkupReason:
    if candidate.format == UNKNOWN:
        return MarkupReason.UNKNOWN_FORMAT
    if armed not in ("auto", candidate.format):
        return MarkupReason.OTHER_FORMAT
    if not candidate.closed:
        return MarkupReason.CUT_OFF
    if not candidate.named:
        return MarkupReason.UNKNOWN_TOOL
    behind = text[candidate.end : min(stop, candidate.end + _LOOK_BEHIND)]
    if any(character.isalpha() for character in behind):
        return MarkupReason.FOLLOWED_BY_TEXT
    return MarkupReason.UNREADABLE
