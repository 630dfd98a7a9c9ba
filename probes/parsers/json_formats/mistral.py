from __future__ import annotations

import re
from dataclasses import replace

from probes.parsers.base import JsonText, RawCall
from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading
from probes.parsers.json_formats.json_output import emit_json_calls
from probes.parsers.json_formats.json_scan import read_value

NAME = "mistral"
OPEN = "[TOOL_CALLS]"

# `name[ARGS]`, `name[CALL_ID]id[ARGS]`, or the name alone before its arguments.
_HEAD = re.compile(r"([\w.:-]{1,256})(?:\[CALL_ID\]([\w-]{1,64}))?(?:\[ARGS\])?\s{0,16}")
_JSON = re.compile(r"\[?\s{0,32}\{")
_MAX_HEAD = 400


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`[TOOL_CALLS][{"name": "f", "arguments": {"a": 1}}]`, or since v11 `f[ARGS]{"a": 1}`."""
    first = yield from cursor.skip_space()
    if first in ("[", "{"):
        if not _JSON.match((yield from cursor.peek(40))):
            return False
        body = yield from read_value(cursor)
        whole = replace(body, closer="]" if body.balanced else "")
        return (yield from emit_json_calls(cursor, context, whole, NAME))
    calls = context.calls
    while True:
        head = yield from _head(cursor)
        if head is None:
            return context.calls > calls
        name, id = head
        if not context.may_name(name):
            return False
        body = yield from read_value(cursor)
        call = RawCall(
            name, JsonText(body.text), NAME, "", id, body.balanced, open_value=not body.balanced
        )
        if not context.emit_call(cursor, call):
            return False
        yield from cursor.skip(",", ";")


def _head(cursor: Cursor) -> Reading[tuple[str, str] | None]:
    # The head ends where the arguments begin; text without any is not a head.
    gap = yield from cursor.gap()
    ahead = yield from _ahead(cursor, gap)
    match = _HEAD.fullmatch(ahead, gap) if ahead else None
    if match is None:
        return None
    cursor.take(len(ahead))
    return match[1], match[2] or ""


def _ahead(cursor: Cursor, gap: int) -> Reading[str]:
    for size in range(gap, gap + _MAX_HEAD):
        ahead = yield from cursor.peek(size + 1)
        if len(ahead) <= size or ahead[size] in "<>(=":
            return ""
        if ahead[size] == "{":
            return ahead[:size]
    return ""


PARSER = Parser(NAME, (OPEN,), read_calls, anywhere=True)
