from __future__ import annotations

from probes.parsers.code_formats.gemma_notation import Notation, read_call
from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading

NAME = "gemma4"
OPEN = "<|tool_call>"
# Without its special token the call is left as it would stand behind it.
BARE_OPEN = "call:"
NOTATION = Notation('<|"|>', ("<tool_call|>", "<turn|>", "<|tool_response>"))


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<|tool_call>call:f{city:<|"|>Paris<|"|>,n:1,list:[true],nested:{a:null}}<tool_call|>`."""
    return (yield from read_call(cursor, context, NOTATION, format=NAME))


def read_bare(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`call:f{city:<|"|>Paris<|"|>}` at the start of a line, under a declared name."""

    def declared(name: str) -> bool:
        return bool(context.tools) and context.knows(name)

    cursor.rewind()
    return (yield from read_call(cursor, context, NOTATION, format=NAME, counts=declared))


PARSER = Parser(NAME, (OPEN,), read_calls, anywhere=True)
BARE = Parser(NAME, (BARE_OPEN,), read_bare)
