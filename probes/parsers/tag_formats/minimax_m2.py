from __future__ import annotations

from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading
from probes.parsers.json_formats.json_output import is_empty
from probes.parsers.tag_formats.invoke import OPEN, read_invokes

NAME = "minimax_m2"


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<minimax:tool_call><invoke name="f"><parameter name="a">1</parameter></invoke>`..."""
    if (yield from is_empty(cursor, opener)):
        return context.emit_empty(cursor, NAME)
    if not (yield from cursor.skip(OPEN)):
        return False
    return (yield from read_invokes(cursor, context, NAME))


PARSER = Parser(NAME, ("<minimax:tool_call>", "<tool_call>"), read_calls)
