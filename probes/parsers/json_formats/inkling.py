from __future__ import annotations

from probes.parsers.context import MAX_NAME, ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading
from probes.parsers.json_formats.json_output import emit_json_calls, skip_closers
from probes.parsers.json_formats.json_scan import read_values
from probes.parsers.json_formats.leading_name import FIRST_LETTERS, read_leading_name

NAME = "inkling"
MODEL = "<|message_model|>"
INVOKE = "<|content_invoke_tool_json|>"
ENDS = ("<|end_message|>", "<|content_model_end_sampling|>")


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<|message_model|>f<|content_invoke_tool_json|>{"name": "f", "args": {"a": 1}}`.

    `<|end_message|>` ends it. The name before the JSON may be missing, and so may the first token,
    which ends the prompt.
    """
    if opener == MODEL:
        head = yield from cursor.until(MAX_NAME, "<|")
        if head is None:
            return False
        if not (yield from cursor.skip(INVOKE)):
            # A message of another kind, whose own token follows.
            context.framed = True
            return not head[0].strip()
    return (yield from _read_json(cursor, context))


def read_first(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`f<|content_invoke_tool_json|>{"name": "f", "args": {"a": 1}}` as the text's beginning."""
    name = yield from read_leading_name(cursor, INVOKE)
    return bool(name) and (yield from _read_json(cursor, context))


def _read_json(cursor: Cursor, context: ParseContext) -> Reading[bool]:
    if (yield from cursor.skip_space()) != "{":
        return False
    body = yield from read_values(cursor, ENDS, (INVOKE,))
    if not (yield from emit_json_calls(cursor, context, body, NAME, closers=ENDS)):
        return False
    context.framed = True
    yield from skip_closers(cursor, *ENDS)
    return True


PARSER = Parser(NAME, (MODEL, INVOKE), read_calls, anywhere=True)
FIRST = Parser(NAME, FIRST_LETTERS, read_first, whole=True)
