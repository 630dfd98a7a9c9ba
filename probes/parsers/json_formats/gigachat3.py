from __future__ import annotations

from dataclasses import replace

from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading
from probes.parsers.json_formats.json_output import emit_json_calls, skip_closers
from probes.parsers.json_formats.json_scan import read_values

NAME = "gigachat3"
OPENERS = ("function call<|role_sep|>", "<|function_call|>")
ENDS = ("<|message_sep|>", "</s>")


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<|function_call|>{"name": "f", "arguments": {"a": 1}}`.

    Before 3.1 the call was a message of the role `function call<|role_sep|>`.
    """
    if (yield from cursor.skip_space()) != "{":
        return False
    body = yield from read_values(cursor, ENDS)
    # Nothing but the brackets closes it: the token that ends the turn is seldom shown.
    whole = replace(body, closer=body.closer or ("}" if body.balanced else ""))
    if not (yield from emit_json_calls(cursor, context, whole, NAME, closers=ENDS)):
        return False
    yield from skip_closers(cursor, *ENDS)
    return True


PARSER = Parser(NAME, OPENERS, read_calls, anywhere=True)
