from __future__ import annotations

from probes.parsers.code_formats.python_calls import read_marked_calls
from probes.parsers.code_formats.pythonic import STOPS
from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading

NAME = "llama4"
OPEN = "<|python_start|>"


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<|python_start|>[f(a="x"), g()]<|python_end|>`, or JSON between the same tokens."""
    return (yield from read_marked_calls(cursor, context, opener, format=NAME, closers=STOPS))


PARSER = Parser(NAME, (OPEN,), read_calls, anywhere=True)
