from __future__ import annotations

from probes.parsers.code_formats.gemma_notation import Notation, read_call
from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading

NAME = "functiongemma"
OPEN = "<start_function_call>"
NOTATION = Notation(
    "<escape>", ("<end_function_call>", "<start_function_response>", "<end_of_turn>")
)


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<start_function_call>call:f{city:<escape>Paris<escape>,n:1}<end_function_call>`."""
    return (yield from read_call(cursor, context, NOTATION, format=NAME))


PARSER = Parser(NAME, (OPEN,), read_calls, anywhere=True)
