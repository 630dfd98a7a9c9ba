from __future__ import annotations

from probes.parsers.base import JsonText, RawCall
from probes.parsers.context import MAX_NAME, ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading
from probes.parsers.json_formats.json_output import skip_closers
from probes.parsers.json_formats.json_scan import JsonBody, read_values

NAME = "kimi_k2"
CALL = "<|tool_call_begin|>"
ARGUMENTS = "<|tool_call_argument_begin|>"
SECTIONS = ("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>")
SECTION_ENDS = ("<|tool_calls_section_end|>", "<|tool_call_section_end|>")
CLOSERS = ("<|tool_call_end|>", *SECTION_ENDS)
# How far from its beginning the end of a section without a call may stand.
MAX_NOISE = 2_000


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|>`.

    What stands before the arguments is the id, and contains the name. A section without a call is
    what stands in it.
    """
    if opener in SECTION_ENDS:
        return context.kimi
    if opener != CALL and not (yield from cursor.skip(CALL)):
        return (yield from _opens_noise(cursor, context, opener))
    while True:
        head = yield from cursor.until(MAX_NAME + 64, ARGUMENTS)
        if head is None:
            return False
        cursor.take(len(ARGUMENTS))
        body = yield from _arguments(cursor)
        if body is None or not (yield from _hand_out(cursor, context, head[0].strip(), body)):
            return False
        yield from skip_closers(cursor, *CLOSERS)
        if not (yield from cursor.skip(CALL)):
            return True


def _opens_noise(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    # Whether more of the section's tokens follow, or nothing. What stands between them is not
    # passed, unless it is only white space.
    ended = bool((yield from cursor.skip(*SECTION_ENDS))) or (yield from cursor.at_end())
    if not ended and (yield from cursor.until(MAX_NOISE, CALL, *SECTION_ENDS)) is None:
        return False
    context.kimi = True
    if not ended:
        cursor.rewind()
        cursor.take(len(opener))
    return True


def _arguments(cursor: Cursor) -> Reading[JsonBody | None]:
    first = yield from cursor.skip_space()
    if first in ("{", "["):
        return (yield from read_values(cursor, CLOSERS, (CALL,)))
    closer = yield from cursor.skip(*CLOSERS)
    return JsonBody("", balanced=False, closer=closer) if closer or not first else None


def _hand_out(cursor: Cursor, context: ParseContext, id: str, body: JsonBody) -> Reading[bool]:
    context.kimi = True
    ended = yield from cursor.at_end(*CLOSERS)
    closed = bool(body.closer) or not ended
    name, colon, index = id.rpartition(":")
    call = RawCall(
        name=(name if colon and index.isdigit() else id).removeprefix("functions."),
        arguments=JsonText(body.text.strip()),
        format=NAME,
        raw="",
        id=id,
        closed=closed,
        open_value=not closed and not body.balanced,
    )
    return context.emit_call(cursor, call, unknown=True)


PARSER = Parser(NAME, (*SECTIONS, CALL, *SECTION_ENDS), read_calls, anywhere=True)
