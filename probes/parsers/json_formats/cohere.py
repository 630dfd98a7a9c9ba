from __future__ import annotations

from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading
from probes.parsers.json_formats.marked_json import read_marked_json

NAME = "cohere"
OPEN = "<|START_ACTION|>"


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "f", "parameters": {"a": 1}}]`.

    `<|END_ACTION|>` closes it.
    """
    return (
        yield from read_marked_json(cursor, context, NAME, ("<|END_ACTION|>",), openers=(OPEN,))
    )


PARSER = Parser(NAME, (OPEN,), read_calls, anywhere=True)
