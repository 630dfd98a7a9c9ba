from __future__ import annotations

from probes.parsers.base import JsonText, RawCall
from probes.parsers.context import MAX_NAME, ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading
from probes.parsers.json_formats.json_output import skip_closers
from probes.parsers.json_formats.json_scan import JsonBody, read_values

V3 = "deepseek_v3"
V31 = "deepseek_v31"
BEGIN = "<｜tool▁calls▁begin｜>"
CALL = "<｜tool▁call▁begin｜>"
SEP = "<｜tool▁sep｜>"
CLOSERS = ("<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>")
_FENCES = ("```json", "```")


def read_v3(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<｜tool▁call▁begin｜>function<｜tool▁sep｜>f`, then the arguments in a code fence."""
    return (yield from _read(cursor, context, opener, V3))


def read_v31(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<｜tool▁call▁begin｜>f<｜tool▁sep｜>{"a": 1}<｜tool▁call▁end｜>`."""
    return (yield from _read(cursor, context, opener, V31))


def _read(cursor: Cursor, context: ParseContext, opener: str, format: str) -> Reading[bool]:
    if opener == BEGIN and not (yield from cursor.skip(CALL)):
        return bool((yield from cursor.skip(CLOSERS[1])))
    while True:
        name = yield from _name(cursor, format)
        if not name:
            return False
        yield from cursor.skip(*_FENCES)
        body = yield from _arguments(cursor)
        if body is None:
            return False
        if not body.closer:
            yield from cursor.skip("```")
        ended = yield from cursor.at_end(*CLOSERS)
        closed = bool(body.closer) or not ended
        open_value = not closed and not body.balanced
        call = RawCall(name, JsonText(_unfenced(body.text)), format, "", "", closed, open_value)
        if not context.emit_call(cursor, call, unknown=True):
            return False
        yield from skip_closers(cursor, *CLOSERS)
        if not (yield from cursor.skip(CALL)):
            return True


def _name(cursor: Cursor, format: str) -> Reading[str]:
    # V3 says the kind of tool before the separator and its name behind it; V3.1 only the name.
    head = yield from cursor.until(MAX_NAME, SEP)
    if head is None:
        return ""
    cursor.take(len(SEP))
    name = head[0].strip()
    if name != "function":
        return name if format == V31 else ""
    if format == V31:
        return ""
    line = yield from cursor.until(MAX_NAME, "\n", "{", "```", "<")
    return line[0].strip() if line else ""


def _arguments(cursor: Cursor) -> Reading[JsonBody | None]:
    first = yield from cursor.skip_space()
    if first in ("{", "["):
        return (yield from read_values(cursor, CLOSERS, (CALL,)))
    closer = yield from cursor.skip(*CLOSERS)
    return JsonBody("", balanced=False, closer=closer) if closer or not first else None


def _unfenced(text: str) -> str:
    # A fence may be cut off; JSON never ends with a tick.
    return text.strip().rstrip("`").rstrip()


PARSER_V3 = Parser(V3, (BEGIN, CALL), read_v3, anywhere=True)
PARSER_V31 = Parser(V31, (BEGIN, CALL), read_v31, anywhere=True)
