from __future__ import annotations

from probes.parsers.base import JsonText, RawCall
from probes.parsers.context import MAX_NAME, ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading
from probes.parsers.json_formats.json_output import is_empty, skip_closers
from probes.parsers.json_formats.json_scan import JsonBody, read_values

NAME = "name_arguments"
CLOSERS = ("</arguments>", "</parameters>", "</tool_call>", "</minimax:tool_call>")


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<tool_call><name>f</name><arguments>{"a": 1}</arguments></tool_call>`.

    Several pairs may stand between one pair of outer tags.
    """
    if (yield from is_empty(cursor, opener)):
        return context.emit_empty(cursor, NAME)
    if not (yield from cursor.skip("<name>")):
        return False
    while True:
        if not (yield from _read_pair(cursor, context)):
            return False
        if not (yield from cursor.skip("<name>")):
            return True


def _read_pair(cursor: Cursor, context: ParseContext) -> Reading[bool]:
    head = yield from cursor.until(MAX_NAME + 64, "</name>", "<arguments>", "</tool_call>")
    if head is None or not context.may_name(head[0].strip()):
        return False
    yield from cursor.skip("</name>")
    body = yield from _arguments(cursor)
    if body is None:
        return False
    ended = yield from cursor.at_end(*CLOSERS)
    call = RawCall(
        head[0].strip(),
        JsonText(body.text.strip()),
        NAME,
        "",
        closed=bool(body.closer) or not ended,
        open_value=ended and not body.balanced and not body.closer,
    )
    if not context.emit_call(cursor, call):
        return False
    yield from skip_closers(cursor, *CLOSERS)
    return True


def _arguments(cursor: Cursor) -> Reading[JsonBody | None]:
    if not (yield from cursor.skip("<arguments>", "<parameters>")):
        closer = yield from cursor.skip(*CLOSERS)
        ended = yield from cursor.at_end()
        return JsonBody("", balanced=False, closer=closer) if closer or ended else None
    if (yield from cursor.skip_space()) in ("{", "["):
        return (yield from read_values(cursor, CLOSERS))
    closer = yield from cursor.skip(*CLOSERS)
    return JsonBody("", balanced=False, closer=closer) if closer or cursor.eof else None


PARSER = Parser(NAME, ("<tool_call>", "<minimax:tool_call>"), read_calls)
