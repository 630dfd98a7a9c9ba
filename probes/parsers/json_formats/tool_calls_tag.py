from __future__ import annotations

from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading
from probes.parsers.json_formats.marked_json import read_marked_json

NAME = "tool_calls"
OPEN = "<tool_calls>"
CLOSE = "</tool_calls>"
# Hunyuan puts its whole answer, calls included, between these.
ANSWER = "<answer>"
ANSWER_END = "</answer>"


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<tool_calls>[{"name": "f", "arguments": {"a": 1}}]</tool_calls>`.

    MiniMax-M1 writes one object per line in place of the array.
    """
    if opener == OPEN:
        return (yield from read_marked_json(cursor, context, NAME, (CLOSE,)))
    if not (yield from cursor.skip(OPEN)):
        return False
    return (yield from read_marked_json(cursor, context, NAME, (CLOSE, ANSWER_END)))


PARSER = Parser(NAME, (OPEN, ANSWER), read_calls)
