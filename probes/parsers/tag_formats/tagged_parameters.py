"""Arguments written one by one between tags, for every format that does so.

None of them escapes anything, so a value may contain its own closing tag. A closing tag ends the
value only where, after white space, the markup goes on: another parameter, the end of the call, or
the end of the text. A whole call quoted inside a value belongs to the value; an opening tag of one
with words behind it is only spoken of. In a value that begins on a line of its own, the tags of
another parameter or of the call's end count at a line's start.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from probes.parsers.base import Parameter, Parameters, RawCall
from probes.parsers.context import ParseContext
from probes.parsers.cursor import Cursor, Reading, TagSearch

MAX_PARAMETERS = 10_000
MIXED = "A value runs on into the next call: an end tag is missing."

_SPACE = re.compile(r"\s{0,64}")
# For formats that write the name behind the tag.
NAME_HEAD = re.compile(r"\s{0,64}[\w.:/-]{0,256}\s{0,64}(?:<tool_sep(?::opensource)?>\s{0,64})?")
_MAX_HEAD = 512


@dataclass(frozen=True, slots=True)
class TagSet:
    """The tags of one format.

    `marks` has the groups `open` (a parameter begins), `close` (it ends), `end` (the call ends),
    `call` (a call begins) and `outer` (the section ends); `parameter` reads an `open` tag.
    """

    marks: TagSearch
    parameter: Callable[[re.Match[str]], tuple[str, bool | None]]
    strip_newlines: bool = False
    # No prose contains this markup, so that a call may name an undeclared tool.
    unknown_names: bool = False
    # Takes off what may stand around a value.
    unwrap: Callable[[str], str] | None = None
    # What may stand between the tag that opens a call and the next tag.
    head: re.Pattern[str] = _SPACE


@dataclass(frozen=True, slots=True)
class TaggedBody:
    """The parameters of a call and how it ended."""

    arguments: Parameters
    closed: bool = True
    open_value: bool = False
    notes: tuple[str, ...] = ()
    fault: str = ""


@dataclass(slots=True)
class _State:
    items: list[Parameter] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)
    open_value: bool = False
    # A value has the opening tag of a call in it.
    holds_call: bool = False
    # Such a value was cut into several, the last of which belong to that call.
    mixed: bool = False

    def take(self, value: _Value) -> None:
        self.items += value.parameters()
        self.notes |= value.notes
        self.holds_call = self.holds_call or value.holds_call
        self.mixed = self.mixed or (value.holds_call and value.is_split)

    def body(self, *, closed: bool) -> TaggedBody:
        # The last of two values counts. Where the first ran on into the next call, that would make
        # one call of two.
        twice = len({item.key for item in self.items}) < len(self.items)
        fault = MIXED if self.mixed or (self.holds_call and twice) else ""
        items, notes = tuple(self.items), tuple(self.notes)
        return TaggedBody(Parameters(items), closed, self.open_value, notes, fault)


def read_tagged_call(
    cursor: Cursor, tags: TagSet, context: ParseContext, *, name: str, format: str
) -> Reading[bool]:
    """Pass the body of a call and report the call; False where there is none to report."""
    body = yield from read_parameters(cursor, tags, context)
    if body is None:
        return False
    call = RawCall(
        name,
        body.arguments,
        format,
        "",
        closed=body.closed,
        open_value=body.open_value,
        notes=body.notes,
        fault=body.fault,
    )
    return context.emit_call(cursor, call, unknown=tags.unknown_names)


def read_parameters(
    cursor: Cursor, tags: TagSet, context: ParseContext
) -> Reading[TaggedBody | None]:
    """Pass the parameters of a call and its end tag. None: this is not the body of a call."""
    state = _State()
    while True:
        between: list[str] = []
        match = yield from cursor.search(tags.marks, between.append)
        stray = any(not piece.isspace() for piece in between)
        if stray and not state.items:
            head = "".join(between)
            cut = match is None and context.truncated and _is_cut_tag(head.lstrip(), tags)
            return TaggedBody(Parameters(()), closed=False, open_value=True) if cut else None
        if stray:
            state.notes["stray_text"] = None
        if match is None:
            return state.body(closed=False)
        kind = match.lastgroup
        if kind == "open" and len(state.items) < MAX_PARAMETERS:
            cursor.pass_match(match)
            yield from _read_value(cursor, tags, context, state, tags.parameter(match))
            if state.open_value:
                return state.body(closed=False)
        elif kind in ("call", "outer"):
            state.notes["missing_end"] = None
            return state.body(closed=True)
        else:
            cursor.pass_match(match)
            if kind == "end":
                return state.body(closed=True)
            state.notes["duplicate_close"] = None


def _is_cut_tag(text: str, tags: TagSet) -> bool:
    return text.startswith("<") and tags.marks.undecided(text, 0)


def _read_value(
    cursor: Cursor, tags: TagSet, context: ParseContext, state: _State, key: tuple[str, bool | None]
) -> Reading[None]:
    value = _Value(tags, key)
    depth = 0
    while True:
        match = yield from cursor.search(tags.marks, value.add)
        if match is None:
            state.take(value)
            state.open_value = True
            return
        kind = match.lastgroup or ""
        opens_call = kind == "call" and (yield from _opens_call(cursor, tags, match.group()))
        value.holds_call = value.holds_call or kind == "call"
        if opens_call:
            depth += 1
        elif depth:
            depth -= kind == "end"
        elif kind == "open" and not value.speaks_of_tag:
            value.split(tags.parameter(match))
        elif kind in ("close", "end"):
            size = len(match.group())
            if (yield from _ends(cursor, tags, value, kind, size)):
                if kind == "close":
                    cursor.take(size)
                else:
                    state.notes["missing_close"] = None
                state.take(value)
                return
            value.refuse_splits(kind)
            value.add(cursor.take(size))
            continue
        value.add(cursor.take(len(match.group())))


def _opens_call(cursor: Cursor, tags: TagSet, tag: str) -> Reading[bool]:
    # Whether the markup of a call goes on behind the tag.
    ahead = yield from cursor.peek(len(tag) + _MAX_HEAD)
    head = tags.head.match(ahead, len(tag))
    end = head.end() if head else len(tag)
    follows = yield from cursor.match(tags.marks, ahead=end)
    kind = follows.lastgroup if follows is not None else ""
    return kind in ("open", "end") or ahead.startswith("{", end)


def _ends(cursor: Cursor, tags: TagSet, value: _Value, kind: str, size: int) -> Reading[bool]:
    # Whether the closing tag that stands here, `size` long, ends the value.
    follows, gap = yield from _following(cursor, tags, size)
    if kind == "end":
        # At the end of the text, the value may have been about to go on behind a quoted tag.
        return not value.speaks_of_tag and follows in ("outer", "call")
    if follows != "close":
        return follows in ("open", "end", "outer", "call", "eof")
    # Two closing tags: the second is one too many, or the first belongs to the value.
    if value.starts_with_newline:
        return value.ends_with_newline or "\n" not in gap
    return gap != ""


def _following(cursor: Cursor, tags: TagSet, size: int) -> Reading[tuple[str, str]]:
    gap = yield from cursor.gap(ahead=size)
    match = yield from cursor.match(tags.marks, ahead=size + gap)
    space = (yield from cursor.peek(size + gap))[size:]
    if match is not None:
        return match.lastgroup or "", space
    ended = len((yield from cursor.peek(size + gap + 1))) == size + gap
    return ("eof" if ended else ""), space


class _Value:
    """A value that is being read, and the places where it may turn out to be several."""

    def __init__(self, tags: TagSet, key: tuple[str, bool | None]) -> None:
        self.notes: dict[str, None] = {}
        self._tags = tags
        self._keys = [key]
        self._texts: list[list[str]] = [[]]
        self.at_line_start = False
        self.holds_call = False
        self._last = ""

    @property
    def is_split(self) -> bool:
        return len(self._keys) > 1

    @property
    def speaks_of_tag(self) -> bool:
        """Whether a tag that stands here is text: words stand before it in its line."""
        if self.at_line_start:
            return False
        return self.starts_with_newline or self._last in (" ", "\t")

    @property
    def starts_with_newline(self) -> bool:
        # A text after the first begins with the tag that opened it.
        first = 1 if len(self._keys) > 1 else 0
        return len(self._texts[-1]) > first and self._texts[-1][first].startswith("\n")

    @property
    def ends_with_newline(self) -> bool:
        # The line break that opened the value does not end it as well.
        text = "".join(self._texts[-1][-2:])
        return len(text) > 1 and text.endswith("\n")

    def add(self, text: str) -> None:
        self._texts[-1].append(text)
        self._last = text[-1:]
        newline = text.rfind("\n")
        if newline >= 0 or self.at_line_start:
            self.at_line_start = not text[newline + 1 :].strip(" \t")

    def split(self, key: tuple[str, bool | None]) -> None:
        """Another parameter opens before this one was closed, or its value speaks of one."""
        self._keys.append(key)
        self._texts.append([])

    def refuse_splits(self, kind: str) -> None:
        """A closing tag inside the value belongs to the openings that stand inside it."""
        if kind != "close" or len(self._keys) == 1:
            return
        # Each piece moves once, so that hostile text costs no more than its length.
        for text in self._texts[1:]:
            self._texts[0] += text
        del self._keys[1:], self._texts[1:]

    def parameters(self) -> list[Parameter]:
        if self.is_split:
            self.notes["missing_close"] = None
        pairs = zip(self._keys, self._texts, strict=True)
        return [
            Parameter(key, self._stripped("".join(text[1:] if at else text)), is_string)
            for at, ((key, is_string), text) in enumerate(pairs)
        ]

    def _stripped(self, text: str) -> str:
        if self._tags.unwrap is not None:
            return self._tags.unwrap(text)
        if not self._tags.strip_newlines:
            return text
        text = text[1:] if text.startswith("\n") else text
        return text[:-1] if text.endswith("\n") else text
