from __future__ import annotations

import re

from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading, TagSearch
from probes.parsers.json_formats.json_output import emit_arguments, is_empty, skip_closers
from probes.parsers.tag_formats.qwen_xml import read_name, unquote_name
from probes.parsers.tag_formats.tagged_parameters import TagSet, read_tagged_call

NAME = "invoke"
OPEN = "<invoke name="
OUTER = ("</invoke>", "</function_calls>", "</tool_call>", "</tool_calls>", "</minimax:tool_call>")

_ATTRIBUTE = r"""(?:"[^"<>]{1,256}"|'[^'<>]{1,256}'|[^<>\s"']{1,256})"""


def is_string(attributes: str) -> bool | None:
    """What `string="true"` in a parameter's tag says; None where it says nothing."""
    if "string=" not in attributes:
        return None
    return "true" in attributes.lower()


TAGS = TagSet(
    TagSearch(
        re.compile(
            rf"(?P<open><parameter name=(?P<key>{_ATTRIBUTE})(?P<rest>[^<>]{{0,64}})>)"
            r"|(?P<close></parameter>)|(?P<end></invoke>)"
            rf"|(?P<call><invoke name={_ATTRIBUTE}[^<>]{{0,64}}>)"
            r"|(?P<outer></(?:function_calls|minimax:tool_call|tool_calls?)>)"
        )
    ),
    lambda found: (unquote_name(found["key"]), is_string(found["rest"])),
)


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<invoke name="f"><parameter name="a">1</parameter></invoke>`, bare or in a wrapper.

    Arguments may also be one JSON object between the tags of the call.
    """
    if opener != OPEN and (yield from is_empty(cursor, opener)):
        return context.emit_empty(cursor, NAME)
    if opener != OPEN and not (yield from cursor.skip(OPEN)):
        return False
    return (yield from read_invokes(cursor, context, NAME))


def read_invokes(cursor: Cursor, context: ParseContext, format: str) -> Reading[bool]:
    """Pass one call after another, each from behind its `<invoke name=`."""
    while True:
        name = yield from read_name(cursor)
        if not context.may_name(name):
            return False
        if not (yield from _read_body(cursor, context, name, format)):
            return False
        yield from skip_closers(cursor, *OUTER)
        if not (yield from cursor.skip(OPEN)):
            return True


def _read_body(cursor: Cursor, context: ParseContext, name: str, format: str) -> Reading[bool]:
    # Engines that enforce a schema make the arguments one JSON object.
    if (yield from cursor.skip_space()) != "{":
        return (yield from read_tagged_call(cursor, TAGS, context, name=name, format=format))
    read = emit_arguments(cursor, context, name=name, format=format, closers=OUTER)
    return (yield from read)


OPENERS = (OPEN, "<function_calls>", "<tool_calls>", "<tool_call>", "<minimax:tool_call>")
PARSER = Parser(NAME, OPENERS, read_calls)
