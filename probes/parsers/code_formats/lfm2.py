from __future__ import annotations

from probes.parsers.code_formats.python_calls import read_marked_calls
from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading

NAME = "lfm2"
OPEN = "<|tool_call_start|>"
CLOSERS = ("<|tool_call_end|>", "<|im_end|>")


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<|tool_call_start|>[f(a="x"), g()]<|tool_call_end|>`, or JSON between the same tokens."""
    return (yield from read_marked_calls(cursor, context, opener, format=NAME, closers=CLOSERS))


PARSER = Parser(NAME, (OPEN,), read_calls, anywhere=True, text_follows=True)
