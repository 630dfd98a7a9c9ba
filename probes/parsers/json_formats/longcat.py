from __future__ import annotations

from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading
from probes.parsers.json_formats.marked_json import read_marked_json

NAME = "longcat"


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<longcat_tool_call>{"name": "f", "arguments": {"a": 1}}</longcat_tool_call>`."""
    return (yield from read_marked_json(cursor, context, NAME, ("</longcat_tool_call>",)))


PARSER = Parser(NAME, ("<longcat_tool_call>",), read_calls, anywhere=True)
