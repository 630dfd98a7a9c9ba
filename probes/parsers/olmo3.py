from __future__ import annotations

from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading
from probes.parsers.python_calls import read_python_calls

NAME = "olmo3"
OPEN = "<function_calls>"
CLOSERS = ("</function_calls>",)


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    r"""`<function_calls>f(a="x")\ng()</function_calls>`, one call per line."""
    return (yield from read_python_calls(cursor, context, format=NAME, closers=CLOSERS))


PARSER = Parser(NAME, (OPEN,), read_calls)
