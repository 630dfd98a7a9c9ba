"""Calls and parameters in tags with a `name`, for every family that writes them so."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from probes.parsers.context import ParseContext
from probes.parsers.cursor import Cursor, Reading, TagSearch
from probes.parsers.json_formats.json_output import skip_closers
from probes.parsers.tag_formats.qwen_xml import read_name, unquote_name
from probes.parsers.tag_formats.tagged_parameters import TagSet, read_tagged_call

_ATTRIBUTE = r"""(?:"[^"<>]{1,256}"|'[^'<>]{1,256}'|[^<>\s"']{1,256})"""


def named_tags(
    call: str, parameter: str, *outer: str, gap: str = " ", unknown_names: bool = False
) -> TagSet:
    """The tags `<call name="f">` and `<parameter name="a">`, and the tags that end a section."""
    ends = "|".join(map(re.escape, outer))
    return TagSet(
        TagSearch(
            re.compile(
                rf"(?P<open><{parameter}{gap}name=(?P<key>{_ATTRIBUTE})[^<>]{{0,64}}>)"
                rf"|(?P<close></{parameter}>)|(?P<end></{call}>)"
                rf"|(?P<call><{call}{gap}name={_ATTRIBUTE}[^<>]{{0,64}}>)"
                + (rf"|(?P<outer>{ends})" if ends else "")
            )
        ),
        lambda found: (unquote_name(found["key"]), None),
        unknown_names=unknown_names,
    )


@dataclass(frozen=True, slots=True)
class NamedCalls:
    """How a family writes calls: `opens` end in `name=`, `closers` may follow a call."""

    format: str
    tags: TagSet
    opens: tuple[str, ...]
    closers: tuple[str, ...]
    rename: Callable[[str, ParseContext], str] | None = None


def read_named_calls(cursor: Cursor, context: ParseContext, style: NamedCalls) -> Reading[bool]:
    """Pass one call after another, each from behind one of its `opens`."""
    tags, format = style.tags, style.format
    while True:
        name = yield from read_name(cursor)
        name = style.rename(name, context) if style.rename else name
        if not name or not (tags.unknown_names or context.may_name(name)):
            return False
        if not (yield from read_tagged_call(cursor, tags, context, name=name, format=format)):
            return False
        yield from skip_closers(cursor, *style.closers)
        if not (yield from cursor.skip(*style.opens)):
            return True
