from __future__ import annotations

import re

from probes.parsers.context import MAX_NAME, ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading, TagSearch
from probes.parsers.json_formats.json_output import is_empty, skip_closers
from probes.parsers.tag_formats.tagged_parameters import TagSet, read_tagged_call

NAME = "qwen_xml"
OPEN = "<function="

TAGS = TagSet(
    TagSearch(
        re.compile(
            r"(?P<open><parameter=(?P<key>[^<>\n]{1,256})>)"
            r"|(?P<close></parameter>)|(?P<end></function>)"
            r"|(?P<call><function=[^<>\n]{1,256}>)|(?P<outer></tool_call>)"
        )
    ),
    lambda found: (unquote_name(found["key"]), None),
    strip_newlines=True,
)


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<tool_call><function=f><parameter=a>1</parameter></function></tool_call>`.

    The outer tag may be missing; one line break on each side of a value is layout.
    """
    if opener != OPEN and (yield from is_empty(cursor, opener)):
        return context.emit_empty(cursor, NAME)
    if opener != OPEN and not (yield from cursor.skip(OPEN)):
        return False
    name = yield from read_name(cursor)
    if not context.may_name(name):
        return False
    if not (yield from read_tagged_call(cursor, TAGS, context, name=name, format=NAME)):
        return False
    yield from skip_closers(cursor, "</function>", "</tool_call>")
    return True


def read_name(cursor: Cursor) -> Reading[str]:
    """Pass what stands up to the end of the tag; "" where it cannot be a name."""
    head = yield from cursor.until(MAX_NAME + 2, ">")
    if head is None:
        return ""
    cursor.take(1)
    name = unquote_name(head[0])
    return "" if "<" in name or "\n" in name else name


def unquote_name(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] in "\"'" and text[-1] == text[0] else text


PARSER = Parser(NAME, ("<tool_call>", OPEN), read_calls)
