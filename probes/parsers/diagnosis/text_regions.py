"""The parts of a text that quote, show code or think: calls in them do not run."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from probes.parsers.markup import MarkupReason
from probes.parsers.reasoning_tags import CLOSERS, PHRASES, THINK

# Inline code is short; a longer run between backticks is text with a stray backtick.
MAX_INLINE_CODE = 2000

_MARK = re.compile(
    r"^[ \t]*(?P<fence>`{3,}|~{3,})[^`\n]*$"
    r"|(?P<tick>`+)"
    r"|(?P<html><(?P<tag>pre|code|samp)\b[^<>\n]{0,200}>)"
    r"|(?P<comment><!--)"
    r"|^[ \t]{0,3}(?P<quote>>(?!>>))[^\n]*$"
    r"|(?<=\n\n)(?P<indented>(?: {4}|\t)[^\n]*(?:\n(?: {4}|\t)[^\n]*)*)"
    rf"|(?P<think>{'|'.join(re.escape(tag) for tag in THINK if tag not in PHRASES)})"
    rf"|(?P<unthink>{'|'.join(map(re.escape, CLOSERS))})",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Region:
    """A part of a text and why a call in it does not run."""

    start: int
    end: int
    reason: MarkupReason


class TextRegions:
    """The regions of one text; none overlaps another."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._regions: list[Region] = []
        self._endless: set[str] = set()
        at = 0
        while (match := _MARK.search(text, at)) is not None:
            region = self._region(match)
            if region is not None:
                self._regions.append(region)
            at = max(match.end(), region.end if region else 0)
        self._starts = [region.start for region in self._regions]

    def find(self, at: int) -> Region | None:
        """The region that a character belongs to."""
        index = bisect_right(self._starts, at) - 1
        region = self._regions[index] if index >= 0 else None
        return region if region and at < region.end else None

    def _region(self, match: re.Match[str]) -> Region | None:
        match match.lastgroup:
            case "quote":
                region = Region(match.start(), match.end(), MarkupReason.QUOTED)
            case "indented":
                region = Region(match.start(), match.end(), MarkupReason.FENCED)
            case _:
                return self._delimited(match)
        return region

    def _delimited(self, match: re.Match[str]) -> Region | None:
        readers: Mapping[str | None, Callable[[re.Match[str]], Region | None]] = {
            "fence": self._fence,
            "tick": self._inline_code,
            "comment": self._comment,
            "html": self._code_element,
            "think": self._reasoning,
            "unthink": self._unopened_reasoning,
        }
        return readers[match.lastgroup](match)

    def _comment(self, match: re.Match[str]) -> Region | None:
        return self._up_to(match, "-->", MarkupReason.QUOTED)

    def _code_element(self, match: re.Match[str]) -> Region | None:
        region = self._up_to(match, f"</{match['tag']}>", MarkupReason.FENCED)
        if region is None or match["tag"] == "pre":
            return region
        stop = min(len(self._text), region.end + MAX_INLINE_CODE)
        return replace(region, reason=self._inline_reason(region.start, region.end, stop))

    def _fence(self, match: re.Match[str]) -> Region:
        mark = match["fence"]
        closer = re.compile(rf"^[ \t]*{re.escape(mark[0])}{{{len(mark)},}}[ \t]*$", re.MULTILINE)
        closing = closer.search(self._text, match.end())
        end = closing.end() if closing else len(self._text)
        return Region(match.start(), end, MarkupReason.FENCED)

    def _inline_code(self, match: re.Match[str]) -> Region | None:
        start, behind = match.span()
        line_end = self._text.find("\n", behind, behind + MAX_INLINE_CODE)
        stop = line_end if line_end >= 0 else min(len(self._text), behind + MAX_INLINE_CODE)
        ticks = match["tick"]
        closing = re.compile(rf"(?<!`){ticks}(?!`)").search(self._text, behind, stop)
        if closing is None:
            return None
        return Region(start, closing.end(), self._inline_reason(start, closing.end(), stop))

    def _inline_reason(self, start: int, end: int, stop: int) -> MarkupReason:
        # Code that fills its line is shown for its own sake, as a block of code is.
        newline = self._text.rfind("\n", max(0, start - 200), start)
        before = self._text[newline + 1 if newline >= 0 else max(0, start - 200) : start]
        behind = self._text[end:stop].partition("\n")[0]
        alone = not before.strip() and not behind.strip()
        return MarkupReason.FENCED if alone else MarkupReason.QUOTED

    def _up_to(self, match: re.Match[str], closer: str, reason: MarkupReason) -> Region | None:
        if closer in self._endless:
            return None
        end = self._text.find(closer, match.end())
        if end < 0:
            self._endless.add(closer)
            return None
        return Region(match.start(), end + len(closer), reason)

    def _reasoning(self, match: re.Match[str]) -> Region | None:
        start = match.start()
        if start and self._text[start - 1] != "\n":
            return None  # a sentence mentions the tag
        closer = THINK[match["think"]]
        end = self._text.find(closer, match.end())
        stop = end + len(closer) if end >= 0 else len(self._text)
        return Region(start, stop, MarkupReason.IN_REASONING)

    def _unopened_reasoning(self, match: re.Match[str]) -> Region | None:
        # The prompt had opened the reasoning, and all before the first closing tag belongs to it.
        if any(region.reason is MarkupReason.IN_REASONING for region in self._regions[:1]):
            return None
        if "unopened" in self._endless:
            return None
        self._endless.add("unopened")
        self._regions.clear()
        return Region(0, match.end(), MarkupReason.IN_REASONING)
