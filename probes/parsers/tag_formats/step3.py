from __future__ import annotations

import re

from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading
from probes.parsers.json_formats.json_output import skip_closers
from probes.parsers.tag_formats.named_tags import NamedCalls, named_tags, read_named_calls

NAME = "step3"
BEGIN = "<｜tool_calls_begin｜>"
CALL = "<｜tool_call_begin｜>"
SEP = "<｜tool_sep｜>"
OPEN = "<steptml:invoke name="
CLOSERS = ("<｜tool_call_end｜>", "<｜tool_calls_end｜>", "</steptml:invoke>")
# What is left of a header when the detokenizer drops special tokens.
STRIPPED = f"function{OPEN}"

TAGS = named_tags("steptml:invoke", "steptml:parameter", *CLOSERS[:2], unknown_names=True)
INVOKES = NamedCalls(NAME, TAGS, (OPEN,), CLOSERS)
# The kind of tool, and sometimes its name once more.
_HEADER = re.compile(rf"\s{{0,16}}(?:function{SEP})?\s{{0,16}}[\w.:/-]{{0,256}}\s{{0,16}}")


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="f">`, parameters likewise.

    One call or several between `<｜tool_calls_begin｜>` and `<｜tool_calls_end｜>`.
    """
    headed = opener not in (OPEN, STRIPPED)
    if opener == BEGIN and not (yield from cursor.skip(CALL)):
        return False
    while True:
        if headed:
            head = yield from cursor.until(400, OPEN)
            if head is None or not _HEADER.fullmatch(head[0]):
                return False
            cursor.take(len(OPEN))
        if not (yield from read_named_calls(cursor, context, INVOKES)):
            return False
        yield from skip_closers(cursor, SEP)
        if not (yield from cursor.skip(CALL)):
            return True
        headed = True


PARSER = Parser(NAME, (BEGIN, CALL, STRIPPED, OPEN), read_calls, anywhere=True)
