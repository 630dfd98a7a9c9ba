from __future__ import annotations

import re

from probes.parsers.base import Parameters, RawCall
from probes.parsers.context import MAX_NAME, ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading, TagSearch
from probes.parsers.json_formats.json_output import skip_closers
from probes.parsers.tag_formats.tagged_parameters import NAME_HEAD, TagSet, read_tagged_call

NAME = "hunyuan3"
# The tokenizer of the open weights puts this into every tag.
SUFFIX = ":opensource"


def _tags(suffix: str) -> TagSet:
    key, value = f"<arg_key{suffix}>", f"<arg_value{suffix}>"
    close, end = f"</arg_value{suffix}>", f"</tool_call{suffix}>"
    call, outer = f"<tool_call{suffix}>", f"</tool_calls{suffix}>"
    return TagSet(
        TagSearch(
            re.compile(
                rf"(?P<open>{key}(?P<key>(?:(?!{key})[^\n]){{0,256}}?)</arg_key{suffix}>"
                rf"\s{{0,64}}{value})"
                rf"|(?P<close>{close})|(?P<end>{end})|(?P<call>{call})|(?P<outer>{outer})"
            ),
            starts=(key,),
            stop=value,
            literals=(close, end, call, outer),
        ),
        lambda found: (found["key"].strip(), None),
        # With the suffix they are tokens of their own, which no prose contains.
        unknown_names=bool(suffix),
        head=NAME_HEAD,
    )


_TAGS = {"": _tags(""), SUFFIX: _tags(SUFFIX)}


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<tool_calls><tool_call>f<tool_sep><arg_key>a</arg_key><arg_value>1</arg_value></tool_call>`.

    With line breaks between the tags or without, and with `:opensource` in every tag or in none.
    """
    suffix = SUFFIX if SUFFIX in opener else ""
    call, sep = f"<tool_call{suffix}>", f"<tool_sep{suffix}>"
    if opener != call and not (yield from cursor.skip(call)):
        return False
    tags = _TAGS[suffix]
    section = opener != call
    while True:
        head = yield from cursor.until(MAX_NAME + 64, sep)
        if head is None and section:
            return (yield from _cut_in_name(cursor, context))
        name = head[0].strip() if head else ""
        if not name or "<" in name or not (tags.unknown_names or context.may_name(name)):
            return False
        cursor.take(len(sep))
        if not (yield from read_tagged_call(cursor, tags, context, name=name, format=NAME)):
            return False
        yield from skip_closers(cursor, f"</tool_call{suffix}>", f"</tool_calls{suffix}>")
        if not (yield from cursor.skip(call)):
            return True
        section = True


def _cut_in_name(cursor: Cursor, context: ParseContext) -> Reading[bool]:
    # The text ends behind a name; GLM's calls without arguments look the same, but for the section.
    text = yield from cursor.peek(MAX_NAME + 64)
    name = text.partition("<")[0].strip()
    if not cursor.eof or not context.tools or not context.knows(name):
        return False
    cursor.take(len(text))
    call = RawCall(name, Parameters(()), NAME, "", closed=False, open_value=True)
    return context.emit_call(cursor, call)


PARSER = Parser(NAME, (f"<tool_calls{SUFFIX}>", f"<tool_call{SUFFIX}>"), read_calls, anywhere=True)
PLAIN = Parser(NAME, ("<tool_calls>", "<tool_call>"), read_calls)
