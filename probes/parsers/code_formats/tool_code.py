from __future__ import annotations

from probes.parsers.code_formats.python_calls import read_python_calls
from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading

NAME = "tool_code"
OPEN = "```tool_code"
FENCE = "```"


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    r"""A code block of Gemma 3: "```tool_code\nf(a=1)\n```", or `print(f(a=1))` in it."""
    if (yield from cursor.peek(1)) not in ("\n", "\r", " "):
        return False
    return (yield from read_python_calls(cursor, context, opener, format=NAME, closers=(FENCE,)))


PARSER = Parser(NAME, (OPEN,), read_calls)
