from __future__ import annotations

from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading
from probes.parsers.json_formats.json_output import emit_json_calls, skip_closers
from probes.parsers.json_formats.json_scan import read_values
from probes.parsers.tag_formats.invoke import OPEN
from probes.parsers.tag_formats.named_tags import NamedCalls, named_tags, read_named_calls

NAME = "dots"
BEGIN = "<dots_function_call>"
CLOSERS = ("</dots_function_call>", "</invoke>")

INVOKES = NamedCalls(NAME, named_tags("invoke", "parameter", CLOSERS[0]), (OPEN,), CLOSERS)


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<dots_function_call><invoke name="f"><parameter name="a">1</parameter></invoke>`...

    Or JSON with a name and arguments between the outer tags.
    """
    if (yield from cursor.skip(OPEN)):
        return (yield from read_named_calls(cursor, context, INVOKES))
    if (yield from cursor.skip_space()) not in ("{", "["):
        return False
    body = yield from read_values(cursor, CLOSERS[:1])
    if not (yield from emit_json_calls(cursor, context, body, NAME, closers=CLOSERS[:1])):
        return False
    yield from skip_closers(cursor, *CLOSERS[:1])
    return True


PARSER = Parser(NAME, (BEGIN,), read_calls, anywhere=True)
