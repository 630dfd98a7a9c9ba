from __future__ import annotations

import re

from probes.parsers.context import MAX_NAME, ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading, TagSearch
from probes.parsers.json_formats.json_output import emit_arguments
from probes.parsers.tag_formats.invoke import is_string
from probes.parsers.tag_formats.tagged_parameters import TagSet, read_tagged_call

NAME = "dsml"

# The bar is U+FF5C, once or twice; detokenizers and relays turn it into others.
_BARS = ("｜", "‖", "|")
_BAR = r" ?[｜‖|]{1,2} ?"
_OPEN = rf"<{_BAR}DSML{_BAR}"
_CLOSE = rf"< ?/{_BAR}DSML{_BAR}"
_QUOTED = r"""(?:"[^"<>]{0,256}"|'[^'<>]{0,256}'|[^<>\s"']{1,256})"""
_BLOCK = r"(?:tool_calls?|function_calls?|calls|tool_use)"

TAGS = TagSet(
    TagSearch(
        re.compile(
            rf"(?P<open>{_OPEN}parameter name=(?P<key>{_QUOTED})(?P<rest>[^<>]{{0,64}})>)"
            rf"|(?P<close>{_CLOSE}parameter ?>)|(?P<end>{_CLOSE}invoke ?>)"
            rf"|(?P<call>{_OPEN}invoke name=(?P<name>{_QUOTED})[^<>]{{0,64}}>)"
            rf"|(?P<outer>{_CLOSE}{_BLOCK} ?>)|(?P<block>{_OPEN}{_BLOCK} ?>)"
        )
    ),
    lambda found: (found["key"].strip("\"'"), is_string(found["rest"])),
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
    Arguments may also be one JSON object between the tags of the call.
    """
    cursor.rewind()
    passed = False
    while True:
        gap = yield from cursor.gap()
        match = yield from cursor.match(TAGS.marks, ahead=gap)
        kind = match.lastgroup if match is not None else None
        if match is None or kind not in ("call", "block", "outer", "end"):
            return passed and cursor.since_mark() == ""
        cursor.pass_match(match)
        if kind == "call" and not (yield from _invoke(cursor, context, match)):
            return False
        if kind in ("outer", "end"):
            context.pass_markup(cursor)
        passed = passed or kind != "block"


def _invoke(cursor: Cursor, context: ParseContext, tag: re.Match[str]) -> Reading[bool]:
    name = tag["name"].strip("\"'")[: MAX_NAME + 1]
    if (yield from cursor.skip_space()) != "{":
        return (yield from read_tagged_call(cursor, TAGS, context, name=name, format=NAME))
    bars = tag.group()[1 : tag.group().index("invoke")]
    closers = (f"</{bars}invoke>", f"</{bars.rstrip()}invoke>")
    read = emit_arguments(cursor, context, name=name, format=NAME, closers=closers, unknown=True)
    return (yield from read)


PARSER = Parser(NAME, OPENERS, read_calls, anywhere=True)
