from __future__ import annotations

from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading
from probes.parsers.json_output import emit_json_calls, is_empty, skip_closers
from probes.parsers.json_scan import read_values

NAME = "hermes"
CLOSERS = ("</tool_call>", "</tools>", "</function_call>", "</minimax:tool_call>")


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """JSON between tags: `<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>`.

    One object, several in a row, or an array of them.
    """
    if opener != "<tools>" and (yield from is_empty(cursor, opener)):
        return context.emit_empty(cursor, NAME)
    yield from cursor.skip("```json", "```")
    if (yield from cursor.skip_space()) not in ("{", "["):
        return False
    body = yield from read_values(cursor, CLOSERS)
    if not (yield from emit_json_calls(cursor, context, body, NAME, closers=CLOSERS)):
        return False
    yield from skip_closers(cursor, *CLOSERS)
    return True


OPENERS = ("<tool_call>", "<tools>", "<function_call>", "<minimax:tool_call>")
PARSER = Parser(NAME, OPENERS, read_calls)
