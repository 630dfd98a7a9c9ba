from __future__ import annotations

import re

from probes.parsers.context import MAX_NAME, ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading, TagSearch
from probes.parsers.tagged_parameters import TagSet, read_tagged_call

NAME = "dsml"

# The bar is U+FF5C, once or twice; detokenizers and relays turn it into others.
_BARS = ("｜", "‖", "|")
_BAR = r" ?[｜‖|]{1,2} ?"
_OPEN = rf"<{_BAR}DSML{_BAR}"
_CLOSE = rf"< ?/{_BAR}DSML{_BAR}"
_QUOTED = r"""(?:"[^"<>]{0,256}"|'[^'<>]{0,256}'|[^<>\s"']{1,256})"""
_BLOCK = r"(?:tool_calls?|function_calls?|tool_use)"

TAGS = TagSet(
    TagSearch(
        re.compile(
            rf"(?P<open>{_OPEN}parameter name=(?P<key>{_QUOTED})(?P<rest>[^<>]{{0,64}})>)"
            rf"|(?P<close>{_CLOSE}parameter ?>)|(?P<end>{_CLOSE}invoke ?>)"
            rf"|(?P<call>{_OPEN}invoke name=(?P<name>{_QUOTED})[^<>]{{0,64}}>)"
            rf"|(?P<outer>{_CLOSE}{_BLOCK} ?>)|(?P<block>{_OPEN}{_BLOCK} ?>)"
        )
    ),
    lambda found: (found["key"].strip("\"'"), _is_string(found["rest"])),
    unknown_names=True,
)
OPENERS = tuple(
    f"<{space}{bars}{after}DSML{before}{bars[0]}"
    for bar in _BARS
    for bars in (bar, bar * 2)
    for space in ("", " ")
    for after in ("", " ")
    for before in ("", " ")
)


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<｜DSML｜invoke name="f"><｜DSML｜parameter name="a" string="false">1`, closed likewise.

    In a block or bare, whichever of the block's names and of the bar's variants the model took.
    """
    cursor.rewind()
    calls = context.calls
    while True:
        gap = yield from cursor.gap()
        match = yield from cursor.match(TAGS.marks, ahead=gap)
        kind = match.lastgroup if match is not None else None
        if match is None or kind not in ("call", "block", "outer", "end"):
            return context.calls > calls and cursor.since_mark() == ""
        cursor.pass_match(match)
        if kind == "call" and not (yield from _invoke(cursor, context, match["name"].strip("\"'"))):
            return False
        if kind in ("outer", "end"):
            cursor.mark()


def _invoke(cursor: Cursor, context: ParseContext, name: str) -> Reading[bool]:
    name = name[: MAX_NAME + 1]
    return (yield from read_tagged_call(cursor, TAGS, context, name=name, format=NAME))


def _is_string(attributes: str) -> bool | None:
    if "string=" not in attributes:
        return None
    return "true" in attributes.lower()


PARSER = Parser(NAME, OPENERS, read_calls, anywhere=True)
