from __future__ import annotations

import re

from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading, TagSearch
from probes.parsers.json_formats.json_output import emit_arguments, skip_closers
from probes.parsers.tag_formats.tagged_parameters import TagSet, read_tagged_call

NAME = "kimi_k3"
TOOLS = "<|open|>tools<|sep|>"
TOOLS_END = "<|close|>tools<|sep|>"
CALL = "<|open|>call "
CALL_END = "<|close|>call<|sep|>"
# All arguments of a call as one JSON object, in place of one element each.
JSON = "<|open|>json"
JSON_END = "<|close|>json<|sep|>"
SEP = "<|sep|>"

_ATTRIBUTE = re.compile(r'(\w{1,32})="([^"]*)"')

TAGS = TagSet(
    TagSearch(
        re.compile(
            r"(?P<open><\|open\|>argument (?P<attributes>[^<]{0,600})<\|sep\|>)"
            r"|(?P<close><\|close\|>argument<\|sep\|>)|(?P<end><\|close\|>call<\|sep\|>)"
            r"|(?P<call><\|open\|>call [^<]{0,600}<\|sep\|>)|(?P<outer><\|close\|>tools<\|sep\|>)"
        ),
        starts=("<|open|>", "<|close|>"),
        stop=SEP,
    ),
    lambda found: _parameter(_attributes(found["attributes"])),
    unknown_names=True,
)


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<|open|>call tool="f" index="1"<|sep|>`, arguments likewise, `<|close|>call<|sep|>`."""
    if opener == TOOLS and not (yield from cursor.skip(CALL)):
        return bool((yield from cursor.skip(TOOLS_END)))
    while True:
        head = yield from cursor.until(600, SEP)
        name = _attributes(head[0]).get("tool", "") if head else ""
        if not name:
            return False
        cursor.take(len(SEP))
        if not (yield from _read_arguments(cursor, context, name)):
            return False
        yield from skip_closers(cursor, TOOLS_END)
        if not (yield from cursor.skip(CALL)):
            return True


def _read_arguments(cursor: Cursor, context: ParseContext, name: str) -> Reading[bool]:
    if not (yield from cursor.skip(JSON)):
        return (yield from read_tagged_call(cursor, TAGS, context, name=name, format=NAME))
    if (yield from cursor.until(600, SEP)) is None:
        return False
    cursor.take(len(SEP))
    read = emit_arguments(
        cursor, context, name=name, format=NAME, closers=(JSON_END,), unknown=True
    )
    if not (yield from read):
        return False
    yield from skip_closers(cursor, JSON_END, CALL_END)
    return True


def _attributes(text: str) -> dict[str, str]:
    # Only these two entities exist, and only in attributes.
    return {
        key: value.replace("&quot;", '"').replace("&amp;", "&")
        for key, value in _ATTRIBUTE.findall(text)
    }


def _parameter(attributes: dict[str, str]) -> tuple[str, bool | None]:
    kind = attributes.get("type")
    return attributes.get("key", ""), None if kind is None else kind == "string"


PARSER = Parser(NAME, (TOOLS, CALL), read_calls, anywhere=True)
