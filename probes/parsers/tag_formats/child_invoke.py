from __future__ import annotations

import re

from probes.parsers.base import Parameter, Parameters, RawCall
from probes.parsers.context import MAX_NAME, ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading, TagSearch
from probes.parsers.json_formats.json_output import skip_closers
from probes.parsers.tag_formats.invoke import OUTER

NAME = "child_invoke"
OPEN = "<invoke>"
WRAPPERS = ("<minimax:tool_call>", "<tool_call>", "<function_calls>", "<tool_calls>")
MAX_ARGUMENTS = 1_000

_TAG = TagSearch(re.compile(r"<(?P<slash>/?)(?P<tag>[^\W\d][\w.-]{0,255})>"))


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<invoke><f><a>1</a></f></invoke>`: the child names the tool, its children the arguments.

    Nothing marks this as a call but the tool's name, so it counts only if that is declared. Several
    may stand in a wrapper.
    """
    if opener != OPEN and not (yield from cursor.skip(OPEN)):
        return False
    while True:
        if not (yield from _read_call(cursor, context)):
            return False
        if not (yield from cursor.skip(OPEN)):
            return True


def _read_call(cursor: Cursor, context: ParseContext) -> Reading[bool]:
    yield from cursor.skip_space()
    tag = yield from cursor.match(_TAG)
    if tag is None or tag["slash"] or not context.tools or not context.knows(tag["tag"]):
        return False
    cursor.pass_match(tag)
    name = tag["tag"]
    items: list[Parameter] = []
    while len(items) < MAX_ARGUMENTS:
        gap = yield from cursor.skip_space()
        tag = yield from cursor.match(_TAG)
        if gap == "" or (tag is None and context.truncated and _passed_cut_tag(cursor)):
            return context.emit_call(cursor, _call(name, items, closed=False))
        if tag is None:
            return False
        cursor.pass_match(tag)
        if tag["slash"]:
            return tag["tag"] == name and (yield from _finish(cursor, context, name, items))
        value, closed = yield from _value(cursor, f"</{tag['tag']}>")
        items.append(Parameter(tag["tag"], value))
        if not closed:
            return context.emit_call(cursor, _call(name, items, closed=False, open_value=True))
    return False


def _passed_cut_tag(cursor: Cursor) -> bool:
    # `match` has waited: what may still become a tag here is the end of the text.
    text, at = cursor.window()
    cut = _TAG.undecided(text, at)
    cursor.take(len(text) - at if cut else 0)
    return cut


def _value(cursor: Cursor, close: str) -> Reading[tuple[str, bool]]:
    parts: list[str] = []
    marks = TagSearch(re.compile(re.escape(close)), (), "", (close,))
    while True:
        match = yield from cursor.search(marks, parts.append)
        if match is None:
            return "".join(parts), False
        cursor.take(len(close))
        # A closing tag with text behind it is text.
        if (yield from _markup_follows(cursor)):
            return "".join(parts), True
        parts.append(close)


def _markup_follows(cursor: Cursor) -> Reading[bool]:
    gap = yield from cursor.gap()
    ahead = yield from cursor.peek(gap + 1)
    return ahead[gap:] in ("", "<")


def _finish(
    cursor: Cursor, context: ParseContext, name: str, items: list[Parameter]
) -> Reading[bool]:
    closed = bool((yield from cursor.skip("</invoke>")))
    if not closed and not (yield from cursor.at_end("</invoke>")):
        return False
    if not context.emit_call(cursor, _call(name, items, closed=closed)):
        return False
    yield from skip_closers(cursor, *OUTER)
    return True


def _call(name: str, items: list[Parameter], *, closed: bool, open_value: bool = False) -> RawCall:
    return RawCall(
        name[:MAX_NAME], Parameters(tuple(items)), NAME, "", closed=closed, open_value=open_value
    )


PARSER = Parser(NAME, (OPEN, *WRAPPERS), read_calls)
