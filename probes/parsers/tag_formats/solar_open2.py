from __future__ import annotations

import re

from probes.parsers.context import MAX_NAME, ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading, TagSearch
from probes.parsers.tag_formats.tagged_parameters import NAME_HEAD, TagSet, read_tagged_call

NAME = "solar_open2"
CALL = "<|tool_call:start|>"
END = "<|tool_call:end|>"
ARGUMENT = "<|tool_arg:start|>"
VALUE = "<|tool_arg:value|>"
CLOSE = "<|tool_arg:end|>"

TAGS = TagSet(
    TagSearch(
        re.compile(
            r"(?P<open><\|tool_arg:start\|>(?P<key>[^<\n]{0,256})<\|tool_arg:value\|>)"
            r"|(?P<close><\|tool_arg:end\|>)|(?P<end><\|tool_call:end\|>)"
            r"|(?P<call><\|tool_call:start\|>)"
        ),
        starts=(ARGUMENT,),
        stop=VALUE,
        literals=(CLOSE, END, CALL),
    ),
    lambda found: (found["key"].strip(), None),
    unknown_names=True,
    head=NAME_HEAD,
)


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<|tool_call:start|>f`, then `<|tool_arg:start|>a<|tool_arg:value|>1<|tool_arg:end|>`...

    Every argument stands on a line of its own; `<|tool_call:end|>` ends the call.
    """
    while True:
        head = yield from cursor.until(MAX_NAME, "\n", "<")
        name = head[0].strip() if head else ""
        if not name:
            return False
        if not (yield from read_tagged_call(cursor, TAGS, context, name=name, format=NAME)):
            return False
        if not (yield from cursor.skip(CALL)):
            return True


PARSER = Parser(NAME, (CALL,), read_calls, anywhere=True)
