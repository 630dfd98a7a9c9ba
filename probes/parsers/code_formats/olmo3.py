from __future__ import annotations

from probes.parsers.code_formats.python_calls import read_python_calls
from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading

NAME = "olmo3"
OPEN = "<function_calls>"
CLOSERS = ("</function_calls>",)


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    r"""`<function_calls>f(a="x")\ng()</function_calls>`, one call per line."""
    return (yield from read_python_calls(cursor, context, opener, format=NAME, closers=CLOSERS))


PARSER = Parser(NAME, (OPEN,), read_calls)
