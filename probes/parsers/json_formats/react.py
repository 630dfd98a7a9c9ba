from __future__ import annotations

from probes.parsers.base import JsonText, RawCall
from probes.parsers.context import MAX_NAME, ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading
from probes.parsers.json_formats.json_scan import read_value
from probes.parsers.made_up_result import pass_made_up_result

NAME = "react"
OPEN = "Action:"
INPUT = "Action Input:"
RESULT = "Observation:"
_FENCES = ("```json", "```")


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`Action: f` and `Action Input: {"a": 1}` on two lines.

    Words that any text may contain: it counts only if the name is declared and the input is JSON.
    """
    head = yield from cursor.until(MAX_NAME + 64, "\n")
    name = head[0].strip() if head else ""
    if not context.tools or not context.knows(name):
        return False
    found = yield from cursor.skip(INPUT)
    if context.truncated and (yield from cursor.at_end(*(() if found else (INPUT,)))):
        cursor.take(len((yield from cursor.peek(MAX_NAME))))
        context.emit_cut_off(cursor, NAME)
        return True
    if not found:
        return False
    fence = yield from cursor.skip(*_FENCES)
    if (yield from cursor.skip_space()) != "{":
        return False
    body = yield from read_value(cursor)
    if fence:
        yield from cursor.skip(_FENCES[1])
    call = RawCall(
        name, JsonText(body.text), NAME, "", "", body.balanced, open_value=not body.balanced
    )
    if not context.emit_call(cursor, call):
        return False
    yield from pass_made_up_result(cursor, context, RESULT)
    return True


PARSER = Parser(NAME, (OPEN,), read_calls)
