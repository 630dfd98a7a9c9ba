from __future__ import annotations

from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading
from probes.parsers.json_formats.marked_json import read_bracketed_json
from probes.parsers.json_formats.phi4_mini import CLOSE, OPEN

NAME = "granite3"


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<|tool_call|>[{"name": "f", "arguments": {"a": 1}}]`, which no mark needs to close."""
    return (yield from read_bracketed_json(cursor, context, NAME, CLOSE))


PARSER = Parser(NAME, (OPEN,), read_calls, anywhere=True)
