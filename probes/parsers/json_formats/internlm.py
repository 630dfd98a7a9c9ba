from __future__ import annotations

from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading
from probes.parsers.json_formats.marked_json import read_marked_json

NAME = "internlm"
OPEN = "<|action_start|>"


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<|action_start|><|plugin|>{"name": "f", "parameters": {"a": 1}}<|action_end|>`.

    Code for the interpreter has `<|interpreter|>` in place of `<|plugin|>` and is no call.
    """
    if not (yield from cursor.skip("<|plugin|>")):
        return False
    return (
        yield from read_marked_json(cursor, context, NAME, ("<|action_end|>",), openers=(OPEN,))
    )


PARSER = Parser(NAME, (OPEN,), read_calls, anywhere=True)
