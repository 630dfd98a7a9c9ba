from __future__ import annotations

from dataclasses import replace

from probes.parsers.code_formats.pythonic import MAX_DEPTH
from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading
from probes.parsers.json_formats.json_output import emit_json_calls
from probes.parsers.json_formats.json_scan import read_values
from probes.parsers.json_formats.llama_json import read_whole, says_calls

NAME = "json_text"
FENCE = "```"


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """The whole visible text is one JSON code block that says a declared call.

    The weakest of all signs: an explanation may look the same.
    """
    yield from cursor.skip("json", "tool_call", "tool_code", "JSON")
    if not context.tools or (yield from cursor.skip_space()) not in ("{", "["):
        return False
    body = yield from read_values(cursor, ())
    if body.depth > MAX_DEPTH or not says_calls(body.text):
        return False
    closed = bool((yield from cursor.skip(FENCE))) or body.text.rstrip().endswith(FENCE)
    if not (yield from cursor.at_end()):
        return False
    whole = replace(body, closer=FENCE if closed else "")
    return (yield from emit_json_calls(cursor, context, whole, NAME, closers=None))


def read_bare(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """The same without the code block; unless asked for by name, that is Llama's format."""
    return (yield from read_whole(cursor, context, NAME))


PARSER = Parser(NAME, (FENCE,), read_calls, whole=True)
BARE = Parser(NAME, ("{", "["), read_bare, whole=True, auto=False)
