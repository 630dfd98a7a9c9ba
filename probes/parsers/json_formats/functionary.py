from __future__ import annotations

from probes.parsers.base import JsonText, RawCall
from probes.parsers.context import MAX_NAME, ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading
from probes.parsers.json_formats.json_scan import read_value
from probes.parsers.json_formats.leading_name import FIRST_LETTERS, read_leading_name
from probes.parsers.json_formats.llama_json import ENDS

NAME = "functionary"
OPEN = ">>>"
EVERYONE = "all"


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`>>>f` and `{"a": 1}` on the next line; behind `>>>all` and a line break stands text.

    Python's prompt looks alike but for a blank. Behind words a name must be a declared one.
    """
    head = yield from cursor.until(MAX_NAME, "\n")
    if head is None:
        return False
    cursor.take(1)
    name = head[0].rstrip("\r")
    if name == EVERYONE and context.out.blank:
        return True
    free = bool(context.tools) or context.out.blank
    if not name or name.strip() != name or not free or not context.knows(name):
        return False
    return (yield from _read_json(cursor, context, name))


def read_first(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`f` and `{"a": 1}` on the next line, as the text's beginning: the prompt ends in `>>>`."""
    name = yield from read_leading_name(cursor, "\n")
    if not name or not context.tools or not context.knows(name):
        return False
    return (yield from _read_json(cursor, context, name, alone=True))


def _read_json(
    cursor: Cursor, context: ParseContext, name: str, *, alone: bool = False
) -> Reading[bool]:
    if (yield from cursor.peek(1)) != "{":
        return False
    body = yield from read_value(cursor)
    if alone and not (yield from _stands_alone(cursor)):
        return False
    call = RawCall(
        name, JsonText(body.text), NAME, "", "", body.balanced, open_value=not body.balanced
    )
    if not context.emit_call(cursor, call):
        return False
    yield from cursor.skip(*ENDS)
    return True


def _stands_alone(cursor: Cursor) -> Reading[bool]:
    gap = yield from cursor.gap()
    follows = yield from cursor.starts_with(OPEN, *ENDS, ahead=gap)
    return bool(follows) or (yield from cursor.at_end(OPEN, *ENDS))


PARSER = Parser(NAME, (OPEN,), read_calls, anywhere=True)
FIRST = Parser(NAME, FIRST_LETTERS, read_first, whole=True)
