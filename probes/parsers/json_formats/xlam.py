from __future__ import annotations

import re
from dataclasses import replace

from probes.parsers.code_formats.pythonic import MAX_DEPTH
from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading
from probes.parsers.json_formats.json_calls import split_members
from probes.parsers.json_formats.json_output import emit_json_calls
from probes.parsers.json_formats.json_scan import read_value

NAME = "xlam"

_START = re.compile(r'\{\s{0,32}"(?:tool_calls|thought)"')
_MAX_START = 64


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """The whole visible text is `{"tool_calls": [{"name": "f", "arguments": {"a": 1}}]}`.

    Since xLAM 2 the array stands alone, which is Llama's format.
    """
    cursor.rewind()
    if not context.tools or not _START.match((yield from cursor.peek(_MAX_START))):
        return False
    body = yield from read_value(cursor)
    calls = split_members(body.text).get("tool_calls", "")
    if body.depth > MAX_DEPTH or not calls.startswith("["):
        return False
    if not (yield from cursor.at_end()):
        return False
    listed = replace(body, text=calls, closer="}" if body.balanced else "")
    return (yield from emit_json_calls(cursor, context, listed, NAME, closers=None))


PARSER = Parser(NAME, ("{",), read_calls, whole=True)
