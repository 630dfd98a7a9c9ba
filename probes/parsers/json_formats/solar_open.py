from __future__ import annotations

from probes.parsers.base import JsonText, RawCall
from probes.parsers.context import MAX_NAME, ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading
from probes.parsers.json_formats.json_output import skip_closers
from probes.parsers.json_formats.json_scan import JsonBody, read_values

NAME = "solar_open"
SECTION = "<|tool_calls|>"
CALL = "<|tool_call:begin|>"
TOOL = "<|tool_call:name|>"
ARGUMENTS = "<|tool_call:args|>"
CLOSERS = ("<|tool_call:end|>", "<|calls|>")
MAX_ID = 128


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<|tool_call:begin|>id<|tool_call:name|>f<|tool_call:args|>{"a": 1}<|tool_call:end|>`.

    One call or several, behind `<|tool_calls|>` or without it.
    """
    if opener != CALL and not (yield from cursor.skip(CALL)):
        return False
    while True:
        id = yield from _up_to(cursor, TOOL, MAX_ID)
        name = (yield from _up_to(cursor, ARGUMENTS, MAX_NAME)) if id is not None else None
        body = (yield from _arguments(cursor)) if name else None
        if body is None:
            return False
        ended = yield from cursor.at_end(*CLOSERS)
        closed = bool(body.closer) or not ended
        open_value = not closed and not body.balanced
        call = RawCall(
            name or "", JsonText(body.text.strip()), NAME, "", id or "", closed, open_value
        )
        if not context.emit_call(cursor, call, unknown=True):
            return False
        yield from skip_closers(cursor, *CLOSERS)
        if not (yield from cursor.skip(CALL)):
            return True


def _up_to(cursor: Cursor, token: str, limit: int) -> Reading[str | None]:
    # What stands before the token, which is passed too.
    head = yield from cursor.until(limit, token)
    if head is None:
        return None
    cursor.take(len(token))
    return head[0].strip()


def _arguments(cursor: Cursor) -> Reading[JsonBody | None]:
    first = yield from cursor.skip_space()
    if first in ("{", "["):
        return (yield from read_values(cursor, CLOSERS, (CALL,)))
    closer = yield from cursor.skip(*CLOSERS)
    return JsonBody("", balanced=False, closer=closer) if closer or not first else None


PARSER = Parser(NAME, (SECTION, CALL), read_calls, anywhere=True)
