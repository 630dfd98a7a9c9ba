from __future__ import annotations

from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading
from probes.parsers.json_formats.json_output import emit_arguments, skip_closers
from probes.parsers.tag_formats.qwen_xml import OPEN, read_name

NAME = "llama_function"
CLOSERS = ("</function>", "</tool_call>")


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<function=f>{"a": 1}</function>`, the form that Llama 3.1 uses for tools of one's own."""
    if opener != OPEN and not (yield from cursor.skip(OPEN)):
        return False
    name = yield from read_name(cursor)
    if not context.may_name(name) or (yield from cursor.skip_space()) != "{":
        return False
    read = emit_arguments(cursor, context, name=name, format=NAME, closers=CLOSERS)
    if not (yield from read):
        return False
    yield from skip_closers(cursor, *CLOSERS)
    return True


PARSER = Parser(NAME, (OPEN, "<tool_call>"), read_calls)
