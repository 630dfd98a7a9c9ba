from __future__ import annotations

import re

from probes.parsers.base import Parameters, RawCall
from probes.parsers.context import MAX_NAME, ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading, TagSearch
from probes.parsers.json_formats.json_output import is_empty, skip_closers
from probes.parsers.tag_formats.tagged_parameters import NAME_HEAD, TagSet, read_tagged_call

NAME = "glm"
KEY = "<arg_key>"
CLOSE = "</tool_call>"

TAGS = TagSet(
    TagSearch(
        re.compile(
            # A key may contain markup (the ladder refuses it then), but not its own opening tag.
            r"(?P<open><arg_key>(?P<key>(?:(?!<arg_key>)[^\n]){0,256}?)</arg_key>\s{0,64}<arg_value>)"
            r"|(?P<close></arg_value>)|(?P<end></tool_call>)|(?P<call><tool_call>)"
        ),
        starts=(KEY,),
        stop="<arg_value>",
        literals=("</arg_value>", CLOSE, "<tool_call>"),
    ),
    lambda found: (found["key"].strip(), None),
    head=NAME_HEAD,
)
# A name, and the markup that some engines leave behind it: `f</arg_value>`.
_NAME = re.compile(r"[^\W\d][\w.:/-]{0,255}(?:<[^\s]{0,64})?")


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>`.

    With or without line breaks between the tags; without arguments the name stands alone.
    """
    if (yield from is_empty(cursor, opener)):
        return context.emit_empty(cursor, NAME)
    head = yield from cursor.until(MAX_NAME + 64, KEY, CLOSE)
    if head is None:
        return (yield from _name_alone(cursor, context))
    name, stop = head[0].strip(), head[1]
    known = context.knows(name) if stop == CLOSE else context.may_name(name)
    if not _NAME.fullmatch(name) or not known:
        return False
    if stop == CLOSE:
        cursor.take(len(CLOSE))
        return context.emit_call(cursor, RawCall(name, Parameters(()), NAME, ""))
    if not (yield from read_tagged_call(cursor, TAGS, context, name=name, format=NAME)):
        return False
    yield from skip_closers(cursor, "</arg_value>", CLOSE)
    return True


def _name_alone(cursor: Cursor, context: ParseContext) -> Reading[bool]:
    # Without a closing tag only a declared name can be told from prose; arguments may be missing.
    text = yield from cursor.peek(MAX_NAME + 64)
    name = text.strip()
    if not cursor.eof or len(text) > MAX_NAME or not _NAME.fullmatch(name):
        return False
    if not context.tools or not context.knows(name):
        return False
    cursor.take(len(text))
    return context.emit_call(cursor, RawCall(name, Parameters(()), NAME, "", closed=False))


PARSER = Parser(NAME, ("<tool_call>",), read_calls)
