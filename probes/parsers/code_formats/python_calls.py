"""Calls written in Python between tags, for every format that does so."""

from __future__ import annotations

import re
from dataclasses import replace

from probes.parsers.base import JsonText, RawCall
from probes.parsers.code_formats.python_scan import PythonBody, read_python
from probes.parsers.code_formats.pythonic import LITERAL, calls_in
from probes.parsers.context import MAX_CALLS, ParseContext
from probes.parsers.cursor import Cursor, Reading
from probes.parsers.json_formats.json_output import emit_json_calls, skip_closers
from probes.parsers.json_formats.json_scan import read_values

UNREADABLE = "The call is not written as a name and arguments that are Python literals."

_JSON = re.compile(r"\[?\s{0,32}\{")
_NAME = r"[^\W\d][\w.]{0,255}"
_HEAD = re.compile(rf"(?:print\s{{0,16}}\(\s{{0,16}}(?={_NAME}\())?({_NAME})\s{{0,16}}\(")
_PRINT = re.compile(r"print\s{0,16}\((.*)\)", re.DOTALL)
_COMMENTS = re.compile(r"(?:#[^\n]*(?:\n|\Z)\s*)+")
_ESCAPES = str.maketrans({"\n": "\\n", "\r": "\\r", "\0": "\\x00"})
_BETWEEN = " \t\r\n,;[]"


def read_marked_calls(
    cursor: Cursor, context: ParseContext, opener: str, *, format: str, closers: tuple[str, ...]
) -> Reading[bool]:
    """Pass calls behind a special token: Python, or JSON."""
    first = yield from cursor.skip_space()
    if first in ("{", "[") and _JSON.match((yield from cursor.peek(40))):
        values = yield from read_values(cursor, closers, (opener,))
        done = yield from emit_json_calls(cursor, context, values, format, closers=closers)
    else:
        done = yield from read_python_calls(
            cursor, context, opener, format=format, closers=closers, unknown=True
        )
    if done:
        yield from skip_closers(cursor, *closers)
    return done


def read_python_calls(  # noqa: PLR0913 - what a format says about its calls, by name
    cursor: Cursor,
    context: ParseContext,
    opener: str,
    *,
    format: str,
    closers: tuple[str, ...],
    unknown: bool = False,
) -> Reading[bool]:
    """Pass calls in Python and hand them out, all of them or, if something is none, not one.

    `unknown` lets undeclared names through, for markup that no prose contains.
    """
    body = yield from read_python(cursor, closers, opener)
    ended = yield from cursor.at_end(*closers)
    calls = _calls(body, format)
    rest = _rest(body, closers)
    if calls is None or len(calls) > MAX_CALLS:
        return False
    if rest:
        last = _unreadable(rest, format)
        if last is None and (body.closer or body.listed or not calls):
            return False
        if last is not None:
            cut = not body.closer
            calls.append(replace(last, closed=not cut, open_value=cut))
    elif calls and not body.closer:
        calls[-1] = _without_closer(calls[-1], ended=ended)
    if not calls or not all(_counts(call, context, unknown=unknown) for call in calls):
        return False
    for call in calls:
        raw = call.raw if len(calls) > 1 else ""
        context.emit_call(cursor, replace(call, raw=raw), unknown=unknown)
    if rest and calls[-1].closed and not body.closer:
        context.emit_cut_off(cursor, format)
    return True


def _calls(body: PythonBody, format: str) -> list[RawCall] | None:
    # None where something is not even the beginning of a call.
    calls: list[RawCall] = []
    for text in body.calls:
        piece = _without_comments(text)
        found = _read(piece, format)
        broken = None if found else _unreadable(piece, format)
        calls += [broken] if broken else found
        if not (found or broken) or len(calls) > MAX_CALLS:
            return None
    return calls


def _read(text: str, format: str) -> list[RawCall]:
    printed = _PRINT.fullmatch(text)
    source = f"[{printed[1] if printed else text}]"
    calls = calls_in(source)
    notes: tuple[str, ...] = ()
    if calls is None:
        calls = calls_in(LITERAL.sub(_on_one_line, source))
        notes = ("control_characters",)
    return [
        RawCall(call.name, JsonText(call.arguments), format, text, notes=notes)
        for call in calls or ()
    ]


def _on_one_line(string: re.Match[str]) -> str:
    return string.group() if string["long"] else string.group().translate(_ESCAPES)


def _unreadable(text: str, format: str) -> RawCall | None:
    head = _HEAD.match(text)
    return head and RawCall(head[1], JsonText(text), format, text, fault=UNREADABLE)


def _without_comments(text: str) -> str:
    # Only those that stand before a call; the compiler reads the others.
    text = text.lstrip(_BETWEEN)
    comments = _COMMENTS.match(text)
    return text[comments.end() :].lstrip(_BETWEEN) if comments else text


def _rest(body: PythonBody, closers: tuple[str, ...]) -> str:
    # What is neither a call nor the beginning of a closing tag.
    rest = _without_comments(body.rest).rstrip(_BETWEEN)
    half = not body.closer and any(closer.startswith(rest) for closer in closers)
    return "" if half else rest


def _without_closer(call: RawCall, *, ended: bool) -> RawCall:
    if ended:
        return replace(call, closed=False)
    return replace(call, notes=(*call.notes, "missing_close"))


def _counts(call: RawCall, context: ParseContext, *, unknown: bool) -> bool:
    if call.closed and call.fault:
        # Any other code looks the same where the tools are not known.
        return bool(context.tools) and context.knows(call.name)
    whole = call.closed and not call.notes
    return unknown or context.knows(call.name) or (whole and context.may_name(call.name))
