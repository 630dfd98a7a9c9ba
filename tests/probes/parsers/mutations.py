"""Damaged texts, and what may be found in them all the same.

The oracle knows no format. A call that can be executed must have been written in the text: its
name, its keys, its strings and its numbers occur there. Allowed for are the escapes of JSON and
Python, HTML entities, Python's joining of adjacent strings, line breaks that Python unifies, and
the spellings of names in `probes/resolve/tool_names.py`. Booleans and null are not looked for.
"""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from probes.messages import JSON
from probes.parsers.reader import _vocabulary
from tests.probes.parsers.test_properties import TAGS
from tests.probes.parsers.writers import Call

# Every string of the n-th call of a text begins with the n-th mark.
MARKS = "①②③④⑤⑥⑦⑧"
TOKENS = sorted({*_vocabulary("auto")[1].words, *TAGS})
MAX_SPAN = 12

# The escapes of JSON, of JSON between apostrophes, and of Python; others stand for themselves.
_ESCAPES = (
    re.compile(r"\\(u[0-9a-fA-F]{4}|[bfnrt/\\\"])"),
    re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[bfnrt/\\\"'])"),
    re.compile(
        r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}|[0-7]{1,3}|\r?\n|[abfnrtv\\\"'])"
    ),
)
_ESCAPED = {
    "n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v", "/": "/",
    "\\": "\\", '"': '"', "'": "'", "\n": "", "\r\n": "",
}  # fmt: skip
_TAG = re.compile(
    r"(\]<\]minimax\[>\[</?[^<>]{0,60}>|</?[^<>\n]{1,60}>|\[[A-Z_/]+\]|✿\w+✿|```\w*|[\"'{}()\[\],:\n])"
)
_ADJACENT = r"""(?:['"]{1,3}(?:\s|\#[^\n]*\n|\\\n)*[uU]?['"]{1,3})?"""
_NUMBER = re.compile(r"(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?")


def mark_strings(calls: Sequence[Call], marks: str = MARKS) -> list[Call]:
    """The calls with their strings marked as theirs."""
    return [
        (name, {key: _mark(value, mark) for key, value in arguments.items()})
        for (name, arguments), mark in zip(calls, marks, strict=False)
    ]


def _mark(value: JSON, mark: str) -> JSON:
    match value:
        case str():
            return f"{mark}{value}"
        case Mapping():
            return {key: _mark(item, mark) for key, item in value.items()}
        case list():
            return [_mark(item, mark) for item in value]
        case _:
            return value


Edit: TypeAlias = tuple[str, float, float, int, str]


@cache
def edits(most: int) -> SearchStrategy[list[Edit]]:
    """Small changes: what is done, at which two shares of the text, how far, with which token."""
    place = st.floats(0, 1, exclude_max=True)
    token = st.sampled_from(TOKENS) | st.characters(codec="utf-8", max_codepoint=127)
    kind = st.sampled_from(("delete", "duplicate", "swap", "insert", "drop", "double", "exchange"))
    edit = st.tuples(kind, place, place, st.integers(1, MAX_SPAN), token)
    return st.lists(edit, min_size=1, max_size=most)


def apply_edits(text: str, changes: Sequence[Edit]) -> str:
    for kind, share, other, size, token in changes:
        if kind in ("drop", "double", "exchange"):
            text = _change_tag(text, kind, share, other)
        else:
            text = _change_characters(text, kind, int(share * len(text)), size, token)
    return text


def _change_characters(text: str, kind: str, at: int, size: int, token: str) -> str:
    before, span, after = text[:at], text[at : at + size], text[at + size :]
    match kind:
        case "delete":
            return before + after
        case "duplicate":
            return before + span + span + after
        case "swap":
            return before + after[:1] + span[1:] + span[:1] + after[1:]
        case _:
            return before + token + span + after


def _change_tag(text: str, kind: str, share: float, other: float) -> str:
    # The odd pieces are tags, brackets and quotation marks.
    pieces = _TAG.split(text)
    tags = range(1, len(pieces), 2)
    if not tags:
        return text
    first, second = (tags[int(place * len(tags))] for place in (share, other))
    match kind:
        case "drop":
            pieces[first] = ""
        case "double":
            pieces[first] *= 2
        case _:
            pieces[first], pieces[second] = pieces[second], pieces[first]
    return "".join(pieces)


def unwritten_parts(text: str, name: str, arguments: Mapping[str, JSON]) -> list[object]:
    """What of a call does not occur in the text."""
    readings = _readings(text)
    strings = [*_strings(arguments)]
    missing: list[object] = [string for string in strings if not _occurs(string, readings)]
    if not any(_fold(name) in _fold(reading) for reading in readings):
        missing.append(name)
    numbers = {abs(float(found.replace("_", ""))) for found in _all_numbers(text)}
    missing += [number for number in _numbers(arguments) if abs(number) not in numbers]
    return missing


def calls_mixed_in(arguments: Mapping[str, JSON]) -> set[str]:
    """The marks of the calls that the strings come from.

    A string that has several marks is not counted: none of these formats escapes anything, so that
    a value may quote a whole call, and one that lost its end looks the same.
    """
    marks = ({mark for mark in string if mark in MARKS} for string in _strings(arguments))
    return {mark for found in marks if len(found) == 1 for mark in found}


def _occurs(string: str, readings: Sequence[str]) -> bool:
    if any(string in reading for reading in readings):
        return True
    joined = re.compile(_ADJACENT.join(map(re.escape, string)))
    return any(joined.search(reading) for reading in readings)


def _readings(text: str) -> list[str]:
    decoded = [text, *(escapes.sub(_decode, text) for escapes in _ESCAPES)]
    twice = [_ESCAPES[0].sub(_decode, reading) for reading in decoded[1:]]
    readings = [*decoded, *twice, html.unescape(text)]
    return [*readings, *(re.sub("\r\n?", "\n", reading) for reading in readings)]


def _decode(escape: re.Match[str]) -> str:
    code = escape[1]
    if code[0] in "uUx":
        return chr(min(int(code[1:], 16), sys.maxunicode))
    if code[0].isdigit():
        return chr(int(code, 8))
    return _ESCAPED[code]


def _strings(value: JSON) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for key, item in value.items():
                yield key
                yield from _strings(item)
        case list():
            for item in value:
                yield from _strings(item)
        case _:
            pass


def _numbers(value: JSON) -> Iterator[float]:
    match value:
        case bool():
            return
        case int() | float():
            yield float(value)
        case Mapping():
            for item in value.values():
                yield from _numbers(item)
        case list():
            for item in value:
                yield from _numbers(item)
        case _:
            pass


def _all_numbers(text: str) -> Iterator[str]:
    # From every digit on: a damaged text may have letters right before a number.
    for start in range(len(text)):
        if text[start].isascii() and (text[start].isdigit() or text[start] == "."):
            match: Any = _NUMBER.match(text, start)
            if match:
                yield match.group()


def _fold(name: str) -> str:
    return name.casefold().replace("-", "_").replace(" ", "_")
