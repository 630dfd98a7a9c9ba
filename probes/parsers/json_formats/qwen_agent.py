from __future__ import annotations

from probes.parsers.base import JsonText, RawCall
from probes.parsers.context import MAX_NAME, ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading
from probes.parsers.json_formats.json_scan import read_value
from probes.parsers.made_up_result import pass_made_up_result

NAME = "qwen_agent"
OPEN = "✿FUNCTION✿"
ARGUMENTS = "✿ARGS✿"
RESULT = "✿RESULT✿"
_COLONS = (":", "：")


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`✿FUNCTION✿: f` and `✿ARGS✿: {"a": 1}` on two lines; more arguments are one more call."""
    yield from cursor.skip(*_COLONS)
    head = yield from cursor.until(MAX_NAME + 64, ARGUMENTS, RESULT)
    name = head[0].strip() if head else ""
    if not context.may_name(name):
        return False
    if not (yield from cursor.skip(ARGUMENTS)):
        if not context.emit_call(cursor, RawCall(name, JsonText(""), NAME, "")):
            return False
    elif not (yield from _calls(cursor, context, name)):
        return False
    yield from pass_made_up_result(cursor, context, RESULT)
    return True


def _calls(cursor: Cursor, context: ParseContext, name: str) -> Reading[bool]:
    while True:
        yield from cursor.skip(*_COLONS)
        if (yield from cursor.skip_space()) != "{":
            return False
        body = yield from read_value(cursor)
        call = RawCall(
            name, JsonText(body.text), NAME, "", "", body.balanced, open_value=not body.balanced
        )
        if not context.emit_call(cursor, call):
            return False
        if not (yield from cursor.skip(ARGUMENTS)):
            return True


PARSER = Parser(NAME, (OPEN,), read_calls, anywhere=True)
