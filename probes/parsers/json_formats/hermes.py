from __future__ import annotations

from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading
from probes.parsers.json_formats.json_output import is_empty
from probes.parsers.json_formats.marked_json import read_marked_json

NAME = "hermes"
CLOSERS = ("</tool_call>", "</tools>", "</function_call>", "</minimax:tool_call>")


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """JSON between tags: `<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>`.

    One object, several in a row, or an array of them.
    """
    if opener != "<tools>" and (yield from is_empty(cursor, opener)):
        return context.emit_empty(cursor, NAME)
    return (yield from read_marked_json(cursor, context, NAME, CLOSERS))


OPENERS = ("<tool_call>", "<tools>", "<function_call>", "<minimax:tool_call>")
PARSER = Parser(NAME, OPENERS, read_calls)
