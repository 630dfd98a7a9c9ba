from __future__ import annotations

import re
from dataclasses import replace

from probes.parsers.base import JsonText, RawCall
from probes.parsers.code_formats.pythonic import MAX_DEPTH, calls_in
from probes.parsers.context import MAX_CALLS, ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading, TagSearch
from probes.parsers.json_formats.json_calls import read_json_call, split_objects
from probes.parsers.json_formats.json_output import emit_json_calls
from probes.parsers.json_formats.json_scan import JsonBody, read_values

NAME = "llama_json"
TAG = "<|python_tag|>"
CLOSER = "</tool_call>"
ENDS = ("<|eom_id|>", "<|eot_id|>", "<|eom|>", "<|eot|>")
# Nothing else may begin such a text; most JSON answers are told by their first characters.
_START = re.compile(r"\[?\s{0,32}\{\s{0,32}[\"'\w]")
_MAX_START = 80
_ENDS = TagSearch(re.compile(r"<\|eo[mt](?:_id)?\|>"), (), "", ENDS)


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<|python_tag|>{"name": "f", "parameters": {"a": 1}}`, several set apart by `;`.

    Llama's built-in tools are called as `<|python_tag|>f.call(a="x")`.
    """
    if (yield from cursor.skip_space()) not in ("{", "["):
        return (yield from _built_in(cursor, context))
    body = yield from read_values(cursor, ENDS)
    return (yield from emit_json_calls(cursor, context, _as_closed(body), NAME))


def read_bare(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """The whole visible text is one call or several, each with a declared name and arguments."""
    return (yield from read_whole(cursor, context, NAME))


def read_whole(cursor: Cursor, context: ParseContext, format: str) -> Reading[bool]:
    """Pass JSON up to the end of the text, behind its first bracket."""
    cursor.rewind()
    ahead = yield from cursor.peek(_MAX_START)
    if not context.tools or not _START.match(ahead):
        return False
    body = yield from read_values(cursor, ENDS)
    # The opening tag may have been the prompt's last word.
    yield from cursor.skip(CLOSER)
    if body.depth > MAX_DEPTH or not says_calls(body.text) or not (yield from cursor.at_end()):
        return False
    return (yield from emit_json_calls(cursor, context, _as_closed(body), format, closers=None))


def _as_closed(body: JsonBody) -> JsonBody:
    # Nothing but the brackets closes such a call.
    return replace(body, closer=body.closer or ("}" if body.balanced else ""))


def says_calls(text: str) -> bool:
    """Whether every object has a name and arguments: JSON with only a name is an answer."""
    calls = [read_json_call(item) for item in split_objects(text, MAX_CALLS)]
    return len(calls) <= MAX_CALLS and all(call and call.arguments is not None for call in calls)


def _built_in(cursor: Cursor, context: ParseContext) -> Reading[bool]:
    parts: list[str] = []
    yield from cursor.search(_ENDS, parts.append)
    calls = calls_in(f"[{''.join(parts).strip()}]")
    if calls is None or len(calls) != 1:
        return False
    name = calls[0].name.removesuffix(".call")
    if not context.emit_call(cursor, RawCall(name, JsonText(calls[0].arguments), NAME, "")):
        return False
    yield from cursor.skip(*ENDS)
    return True


PARSER = Parser(NAME, (TAG,), read_calls, anywhere=True)
BARE = Parser(NAME, ("{", "["), read_bare, whole=True)
