from __future__ import annotations

from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading
from probes.parsers.json_formats.marked_json import read_bracketed_json

NAME = "phi4_mini"
FUNCTOOLS = "functools"
OPEN = "<|tool_call|>"
CLOSE = "<|/tool_call|>"


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`functools[{"name": "f", "arguments": {"a": 1}}]` (Phi-4-mini, FireFunction)."""
    cursor.rewind()
    cursor.take(len(FUNCTOOLS))
    return (yield from read_bracketed_json(cursor, context, NAME))


def read_tagged(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<|tool_call|>[{"name": "f", "arguments": {"a": 1}}]<|/tool_call|>`.

    Unless asked for by name, that is Granite's format.
    """
    return (yield from read_bracketed_json(cursor, context, NAME, CLOSE))


PARSER = Parser(NAME, (f"{FUNCTOOLS}[",), read_calls)
TAGGED = Parser(NAME, (OPEN,), read_tagged, anywhere=True, auto=False)
