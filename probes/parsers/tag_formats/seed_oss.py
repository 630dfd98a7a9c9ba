from __future__ import annotations

import re

from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading, TagSearch
from probes.parsers.json_formats.json_output import skip_closers
from probes.parsers.tag_formats.qwen_xml import OPEN, read_name, unquote_name
from probes.parsers.tag_formats.tagged_parameters import TagSet, read_tagged_call

NAME = "seed_oss"
BEGIN = "<seed:tool_call>"
END = "</seed:tool_call>"

TAGS = TagSet(
    TagSearch(
        re.compile(
            r"(?P<open><parameter=(?P<key>[^<>\n]{1,256})>)"
            r"|(?P<close></parameter>)|(?P<end></function>)"
            rf"|(?P<call><function=[^<>\n]{{1,256}}>)|(?P<outer>{END})"
        )
    ),
    lambda found: (unquote_name(found["key"]), None),
    strip_newlines=True,
)


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<seed:tool_call><function=f><parameter=a>1</parameter></function></seed:tool_call>`.

    Qwen's tags in a section of its own. Without the section they are read as Qwen's.
    """
    if not (yield from cursor.skip(OPEN)):
        return False
    while True:
        name = yield from read_name(cursor)
        if not context.may_name(name):
            return False
        if not (yield from read_tagged_call(cursor, TAGS, context, name=name, format=NAME)):
            return False
        yield from skip_closers(cursor, "</function>", END)
        if not (yield from cursor.skip(OPEN)):
            return True


PARSER = Parser(NAME, (BEGIN,), read_calls)
