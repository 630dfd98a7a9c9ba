"""Calls written as JSON objects, taken apart without being believed.

Only the outermost members are told apart; a member's text is handed on as it stands, since it may
need the ladder's repairs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

NAME_KEYS = ("name", "function", "tool_name", "tool")
ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "params")
ID_KEYS = ("id", "tool_call_id")

_MARK = re.compile(r"""\\.|//|/\*|["'\[\]{},:]""", re.DOTALL)
_COMMENTS = {"//": "\n", "/*": "*/"}
_FIRST_QUOTE = re.compile(r"""["']""")


@dataclass(frozen=True, slots=True)
class JsonCall:
    """What one object says: a name, the text of its arguments (None: no such member), an id."""

    name: str
    arguments: str | None
    id: str = ""


def read_json_call(text: str) -> JsonCall | None:
    """The call that one object says, or None."""
    if not text.startswith("{"):
        return None
    members = split_members(text)
    inner = members.get("function", "")
    if inner.startswith("{") and "name" not in members:
        call = read_json_call(inner) if "function" not in split_members(inner) else None
        return call and JsonCall(call.name, call.arguments, call.id or _id(members))
    if "description" in members and "parameters" in members:
        # A tool's declaration, which small models like to repeat.
        return None
    name = next((unquote_literal(members[key]) for key in NAME_KEYS if key in members), "")
    arguments = next((members[key] for key in ARGUMENT_KEYS if key in members), None)
    return JsonCall(name, arguments, _id(members)) if name else None


def _id(members: Mapping[str, str]) -> str:
    return next((unquote_literal(members[key]) for key in ID_KEYS if key in members), "")


def without_comments(text: str) -> str:
    """The text without what stands between `/*` and `*/` or behind `//`, outside strings."""
    if "/" not in text:
        return text
    parts: list[str] = []
    start = 0
    for mark, at in _marks(text):
        if mark in _COMMENTS:
            parts.append(text[start:at])
            start = _comment_end(text, at)
    return "".join((*parts, text[start:]))


def split_objects(text: str, limit: int) -> list[str]:
    """The objects that stand in the text in a row or in arrays; one more than the limit at most."""
    objects: list[str] = []
    for value in split_values(without_comments(text)):
        objects += split_elements(value, limit + 1) if value.startswith("[") else [value]
        if len(objects) > limit:
            break
    return objects[: limit + 1]


def split_values(text: str) -> list[str]:
    """The bracketed values that stand in a row in the text."""
    values: list[str] = []
    depth = start = 0
    for mark, at in _marks(text):
        if mark in "[{":
            start = at if depth == 0 else start
            depth += 1
        elif mark in "]}" and depth > 0:
            depth -= 1
            if depth == 0:
                values.append(text[start : at + 1])
    if depth > 0:
        values.append(text[start:])
    return values


def split_elements(text: str, limit: int) -> list[str]:
    """The first elements of an array, as they are written."""
    stripped = (piece.strip() for piece in _pieces(text))
    return list(islice((piece for piece in stripped if piece), limit))


def split_members(text: str) -> dict[str, str]:
    """The members of an object as they are written; of two with one key the last counts."""
    members: dict[str, str] = {}
    for piece in _pieces(text):
        colon = next((at for mark, at in _marks(piece) if mark == ":"), -1)
        if colon >= 0:
            members[unquote_literal(piece[:colon].strip())] = piece[colon + 1 :].strip()
    return members


def unquote_literal(text: str | None) -> str:
    """What a string literal says; anything else as it is."""
    if text is None or len(text) < 2 or text[0] not in "\"'" or text[-1] != text[0]:
        return "" if text is None or text[:1] in ("{", "[", '"', "'") else text
    if text[0] == "'":
        return text[1:-1]
    try:
        return str(json.loads(text, strict=False))
    except ValueError:
        return text[1:-1]


def _pieces(text: str) -> Iterator[str]:
    # What stands between the commas of the outermost brackets.
    depth = 0
    start = 1
    for mark, at in _marks(text):
        if mark in "[{":
            depth += 1
        elif mark in "]}":
            depth -= 1
            if depth == 0:
                yield text[start:at]
                return
        elif mark == "," and depth == 1:
            yield text[start:at]
            start = at + 1
    yield text[start:]


def _marks(text: str) -> Iterator[tuple[str, int]]:
    # Brackets, commas, colons and comments outside strings. An apostrophe opens a string only where
    # the first quote of the text is one: a Python literal.
    first = _FIRST_QUOTE.search(text)
    quotes = "\"'" if first and first.group() == "'" else '"'
    inside = ""
    at = 0
    while match := _MARK.search(text, at):
        mark = match.group()
        at = match.end()
        if inside:
            inside = "" if mark == inside else inside
        elif mark in quotes:
            inside = mark
        elif mark in _COMMENTS:
            at = _comment_end(text, match.start())
            yield mark, match.start()
        elif len(mark) == 1 and mark not in "\"'":
            yield mark, match.start()


def _comment_end(text: str, start: int) -> int:
    stop = _COMMENTS[text[start : start + 2]]
    end = text.find(stop, start + 2)
    return len(text) if end < 0 else end + len(stop)
