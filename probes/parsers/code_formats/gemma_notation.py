"""The notation of Gemma 4 and FunctionGemma: `call:f{city:<|"|>Paris<|"|>,n:1}`.

Keys are bare words, and a special token delimits strings, in which nothing is escaped. The rest is
JSON. A call is handed out with its arguments as JSON text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from probes.parsers.base import JsonText, RawCall
from probes.parsers.context import MAX_NAME, ParseContext
from probes.parsers.cursor import Cursor, Reading, Sink, TagSearch
from probes.parsers.json_formats.json_output import skip_closers
from probes.parsers.json_formats.json_scan import JsonBody

_HEAD = re.compile(r"\s{0,16}:?call:\s{0,4}([^\s{}<>()\"']{1,256})\s{0,4}")
_MAX_HEAD = MAX_NAME + 32
# What may follow a closing tag that ends a call although a string is open.
_LINE_ENDS = ("", "\n", "\r", "<")


@dataclass(frozen=True, slots=True)
class Notation:
    """What one family uses: the token on both sides of a string, and the tokens that end a call."""

    quote: str
    closers: tuple[str, ...]


def read_call(
    cursor: Cursor,
    context: ParseContext,
    notation: Notation,
    *,
    format: str,
    counts: Callable[[str], bool] | None = None,
) -> Reading[bool]:
    """Pass one call from its `call:` on.

    `counts` decides about the name where no special token stands before the call.
    """
    head = yield from cursor.until(_MAX_HEAD, "{", "\n\n")
    match = _HEAD.fullmatch(head[0]) if head and head[1] == "{" else None
    if match is None or (counts is not None and not counts(match[1])):
        return False
    body = yield from _body(cursor, notation)
    ended = yield from cursor.at_end(*notation.closers)
    closed = bool(body.closer) or not ended
    call = RawCall(
        match[1],
        JsonText(as_json(body.text, notation.quote)),
        format,
        "",
        closed=closed,
        open_value=not closed and not body.balanced,
        notes=() if body.closer or not closed else ("missing_close",),
    )
    if not context.emit_call(cursor, call, unknown=counts is None):
        return False
    yield from skip_closers(cursor, *notation.closers)
    return True


def as_json(text: str, quote: str) -> str:
    """The same as JSON text: strings and keys between quotation marks, all else as written."""
    return _tokens(quote).sub(_as_json_token, text)


def _as_json_token(token: re.Match[str]) -> str:
    match token.lastgroup:
        case "end":
            # A string that never ended stays open, so that nothing takes it for whole.
            written = json.dumps(token["string"], ensure_ascii=False)
            return written if token["end"] else written[:-1]
        case "bare" if token.string.startswith(":", token.end()):
            return json.dumps(token["bare"].strip(), ensure_ascii=False)
        case _:
            return token.group()


def _body(cursor: Cursor, notation: Notation) -> Reading[JsonBody]:
    # From the opening brace up to the one that closes it, and the closing tag behind that.
    marks, _ = _searches(notation)
    parts: list[str] = []
    depth = deepest = 0
    while True:
        match = yield from cursor.search(marks, parts.append)
        mark = match.group() if match is not None else ""
        closer = mark if mark in notation.closers else ""
        if not mark or closer:
            cursor.take(len(closer))
            return JsonBody("".join(parts), False, closer, deepest)
        parts.append(cursor.take(len(mark)))
        if mark in "{[":
            depth += 1
            deepest = max(deepest, depth)
        elif mark in "}]":
            depth -= 1
            if depth <= 0:
                closer = yield from cursor.skip(*notation.closers)
                return JsonBody("".join(parts), True, closer, deepest)
        end = mark if mark == notation.quote else ""
        if mark in "{[,:":
            # Ordinary quotation marks count where a key or a value begins.
            first = yield from cursor.skip_space(parts.append)
            end = first if first in ("'", '"') else ""
            parts.append(cursor.take(len(end)))
        if end:
            closer = yield from _string(cursor, notation, end, parts.append)
            if closer:
                return JsonBody("".join(parts), False, closer, deepest)


def _string(cursor: Cursor, notation: Notation, end: str, keep: Sink) -> Reading[str]:
    # Pass the rest of a string. A closing tag inside it is text, unless a line, the text or
    # another tag ends there: then the end of the string was lost. The answer is such a tag.
    marks = _searches(notation)[1][end]
    while True:
        match = yield from cursor.search(marks, keep)
        if match is None:
            return ""
        mark = match.group()
        if mark in notation.closers:
            ahead = yield from cursor.peek(len(mark) + 1)
            if ahead[len(mark) :] in _LINE_ENDS:
                return cursor.take(len(mark))
        keep(cursor.take(len(mark)))
        if mark == end:
            return ""
        if mark == "\\":
            keep(cursor.take(len((yield from cursor.peek(1)))))


@lru_cache(maxsize=8)
def _searches(notation: Notation) -> tuple[TagSearch, dict[str, TagSearch]]:
    def search(pattern: str, *words: str) -> TagSearch:
        tags = "|".join(map(re.escape, words))
        return TagSearch(re.compile(f"{tags}|{pattern}" if pattern else tags), (), "", words)

    words = (notation.quote, *notation.closers)
    inside = {end: search(rf"[{end}\\]", *notation.closers) for end in ("'", '"')}
    return search(r"[{}\[\],:]", *words), {**inside, notation.quote: search("", *words)}


@lru_cache(maxsize=8)
def _tokens(quote: str) -> re.Pattern[str]:
    mark = re.escape(quote)
    return re.compile(
        rf"{mark}(?P<string>.*?)(?P<end>{mark}|\Z)"
        r"""|(?P<quoted>"[^"\\]*(?:\\.[^"\\]*)*"|'[^'\\]*(?:\\.[^'\\]*)*')"""
        rf"|(?P<space>\s+)|(?P<bare>(?:(?!{mark})[^{{}}\[\],:])+)",
        re.DOTALL,
    )
