from __future__ import annotations

from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading
from probes.parsers.json_formats.marked_json import read_marked_json

NAME = "nemotron"


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<TOOLCALL>[{"name": "f", "arguments": {"a": 1}}]</TOOLCALL>`."""
    return (yield from read_marked_json(cursor, context, NAME, ("</TOOLCALL>",)))


PARSER = Parser(NAME, ("<TOOLCALL>",), read_calls)
