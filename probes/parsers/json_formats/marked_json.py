"""JSON behind an opening mark, for every format that writes its calls so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from probes.parsers.context import ParseContext
from probes.parsers.cursor import Cursor, Reading
from probes.parsers.json_formats.json_calls import JsonCall, read_json_call
from probes.parsers.json_formats.json_output import (
    emit_json_calls,
    emit_raw_calls,
    read_raw_calls,
    skip_closers,
)
from probes.parsers.json_formats.json_scan import read_value, read_values


def read_marked_json(  # noqa: PLR0913 - what a format says about its calls, by name
    cursor: Cursor,
    context: ParseContext,
    format: str,
    closers: tuple[str, ...],
    *,
    openers: tuple[str, ...] = (),
    read_call: Callable[[str], JsonCall | None] = read_json_call,
) -> Reading[bool]:
    """Pass JSON up to one of the closing marks and hand out its calls.

    One object, several in a row, or an array of them; a code fence around them does no harm. The
    openers are those that differ from the closing marks in more than a slash.
    """
    yield from cursor.skip("```json", "```")
    if (yield from cursor.skip_space()) not in ("{", "["):
        return False
    body = yield from read_values(cursor, closers, openers)
    calls = read_raw_calls(body, format, read_call)
    if not (yield from emit_raw_calls(cursor, context, body, calls, closers=closers)):
        return False
    yield from skip_closers(cursor, *closers)
    return True


def read_bracketed_json(
    cursor: Cursor, context: ParseContext, format: str, *closers: str
) -> Reading[bool]:
    """Pass one JSON value, whose last bracket ends the calls; a closing mark may follow."""
    if (yield from cursor.skip_space()) not in ("{", "["):
        return False
    body = yield from read_value(cursor, closers)
    whole = replace(body, closer=body.closer or ("]" if body.balanced else ""))
    if not (yield from emit_json_calls(cursor, context, whole, format, closers=closers)):
        return False
    if closers:
        yield from skip_closers(cursor, *closers)
    return True
