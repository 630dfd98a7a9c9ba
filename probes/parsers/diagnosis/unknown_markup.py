"""Finds calls in no known format: a declared tool's name where a call has its name.

Each shape looks at a bounded piece of text before and behind the name. The shapes of JSON objects
are in `json_markup.py`, those of code and commands in `code_markup.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from probes.parsers.diagnosis.call_candidates import CallEnds, Candidate
from probes.parsers.diagnosis.code_markup import (
    bracket_shape,
    code_shape,
    command_shape,
    object_shape,
)
from probes.parsers.diagnosis.declared_names import DeclaredNames
from probes.parsers.diagnosis.json_markup import json_key_shape, json_value_shape
from probes.parsers.diagnosis.name_context import QUOTE, NameContext, starts_arguments
from probes.parsers.markup import ENVELOPE, MENTIONED, UNKNOWN

Shape: TypeAlias = Callable[[NameContext, CallEnds], Candidate | None]

# Elements of web pages, whose names and contents are no calls.
_HTML = re.compile(
    r"a|abbr|body|button|details|div|fieldset|form|h[1-6]|iframe|img|input|label|li|link|meta|object"
    r"|option|p|param|section|select|slot|span|svg|table|td|textarea|th|tr|ul",
    re.IGNORECASE,
)
_OPEN = r"(?:<|&lt;)"
_CLOSE = r"(?:>|&gt;)"
_DEFINITION = re.compile(
    r"(?:\b(?:def|function|class|interface|type|import|from|fn|func|enum|struct|SELECT)\s[^;]*)$"
)
_TAG_BEHIND = re.compile(
    rf"\s{{0,8}}(?:(?P<attributes>\s[^<>\n]{{1,200}}?)?(?P<self>/)?{_CLOSE}|\{{)"
)
_ATTRIBUTE = re.compile(
    rf"{_OPEN}(?P<tag>[\w:.-]{{1,48}})(?:\s(?:[^<>\n]{{0,80}}\s)?"
    rf"(?:name|tool|function|tool_name|function_name|id|call)\s{{0,4}}=|=)\s{{0,4}}{QUOTE}?$"
)
_ATTRIBUTE_END = re.compile(rf"[^<>\n]{{0,200}}{_CLOSE}")
_ELEMENT = re.compile(
    rf"{_OPEN}(?:\w{{1,24}}[:_.-])?"
    rf"(?:name|tool|function|call|action|invoke|command)[\w-]{{0,24}}{_CLOSE}\s{{0,16}}$"
)
_ELEMENT_BEHIND = re.compile(r"\s{0,16}(?:<|&lt;|\{|\n|\()")
_SIBLINGS = re.compile(r"(?:\s{0,32}</?[\w:.=-]{1,48}[^<>\n]{0,100}>[^<]{0,2000})+")
_TOKEN = re.compile(
    r"(?:<[|｜](?P<bar>[^<>\n]{1,40})[|｜]>|◁(?P<triangle>[^▷\n]{1,40})▷|<<<(?P<angle>[A-Z_/]{3,40})>>>"
    r"|\[(?P<square>[A-Z_/]{3,40})\])\s{0,8}$"
)
_TOKEN_WORD = re.compile(r"tool|call|func|action|invoke|plugin|api|request", re.IGNORECASE)
_TOKEN_BEHIND = re.compile(r"\s{0,8}(?:<[|｜]|◁|\[|\{|\(|\n)")
_LABEL = re.compile(
    r"(?:^|\n)[\s>*#\-•●\[({<`\"'_]{0,16}"
    r"(?:(?:calling|invoking|using|use|run|executing|next)\s)?(?:the\s)?"
    r"(?:tool|function|action|api|command|call|invoke|recipient|name|调用工具|工具调用|工具|函数|调用)"
    r"[ _-]?(?:call|name|use|request|invocation|to\suse)?"
    rf"[\"'*`_\])>]{{0,4}}\s{{0,4}}[:=：]{QUOTE}{{0,4}}\s{{0,4}}{QUOTE}{{0,4}}$",
    re.IGNORECASE,
)
_BRACKET_LABEL = re.compile(
    r"[\[{(<]\s?(?:(?:tool|function|action|call)[ _-]?(?:call|use|name)?\s?[:=]\s?"
    r"|(?:calling|calls|invoking)\s(?:the\s)?(?:tool\s)?)$",
    re.IGNORECASE,
)
_FIRST_BRACKET = re.compile(r"[^{\[(]{0,80}[{\[(]")
_BRACKET_BEHIND = re.compile(r"\s[^\]\n]{1,400}\]")


class UnknownMarkup:
    """Looks for calls of the declared tools in one text."""

    def __init__(self, ends: CallEnds, names: DeclaredNames) -> None:
        self._ends = ends
        self._names = names

    def find(self, taken: Sequence[tuple[int, int]]) -> Iterator[Candidate]:
        """The candidates in order, none inside the spans that are taken already."""
        spans = iter((*taken, (len(self._ends.text) + 1,) * 2))
        span = next(spans)
        done = 0
        for place in self._names.in_text(self._ends.text):
            while span[1] <= place.start:
                span = next(spans)
            if place.start < done or span[0] <= place.start:
                continue
            candidate = self._shape(NameContext(self._ends.text, place))
            if candidate is not None and candidate.start >= done:
                yield candidate
                done = candidate.end if candidate.level > MENTIONED else done

    def _shape(self, context: NameContext) -> Candidate | None:
        if _DEFINITION.search(context.line_before):
            return None
        for shape in _SHAPES:
            candidate = shape(context, self._ends)
            if candidate is not None:
                return candidate
        return None


def tag_shape(context: NameContext, ends: CallEnds) -> Candidate | None:
    """`<get_weather>…</get_weather>`, `<get_weather city="Lima"/>`."""
    if not context.before.endswith(("<", "&lt;")):
        return None
    behind = _TAG_BEHIND.match(context.after)
    start = context.start - (1 if context.before.endswith("<") else 4)
    if behind is None:
        return None
    after = context.end + behind.end()
    if behind.group().endswith("{"):
        end = ends.balanced(after - 1)
        return Candidate(UNKNOWN, start, ends.pass_closers(max(end, after)), ENVELOPE)
    closing = max(
        ends.literal(f"</{context.word}", after), ends.literal(f"&lt;/{context.word}", after)
    )
    if closing >= 0:
        return Candidate(UNKNOWN, start, ends.pass_closers(ends.line(closing)), ENVELOPE)
    has_attributes = "=" in (behind["attributes"] or "")
    if has_attributes or starts_arguments(ends.text, after):
        return Candidate(UNKNOWN, start, ends.line(after), ENVELOPE, closed=has_attributes)
    return Candidate(UNKNOWN, start, after, MENTIONED)


def attribute_shape(context: NameContext, ends: CallEnds) -> Candidate | None:
    """`<tool name="get_weather">`, `<parameter=get_weather>`."""
    before = _ATTRIBUTE.search(context.before)
    behind = _ATTRIBUTE_END.match(context.after)
    if before is None or behind is None or _HTML.fullmatch(before["tag"]):
        return None
    after = context.end + behind.end()
    end = ends.literal(f"</{before['tag']}", after)
    stop = ends.pass_closers(ends.line(end if end >= 0 else after))
    return Candidate(UNKNOWN, context.back(before), stop, ENVELOPE, closed=end >= 0)


def element_shape(context: NameContext, ends: CallEnds) -> Candidate | None:
    """`<tool_name>get_weather</tool_name>`."""
    before = _ELEMENT.search(context.before)
    if before is None or not _ELEMENT_BEHIND.match(context.after):
        return None
    siblings = _SIBLINGS.match(ends.text, context.end, context.end + 8000)
    end = siblings.end() if siblings else ends.line(context.end)
    return Candidate(UNKNOWN, context.back(before), end, ENVELOPE)


def token_shape(context: NameContext, ends: CallEnds) -> Candidate | None:
    """`<|some_token|>get_weather`, `◁tool▷get_weather`."""
    before = _TOKEN.search(context.before)
    if before is None:
        return None
    is_call = _TOKEN_WORD.search(before.group()) is not None
    if not is_call and before["square"]:
        return None
    has_arguments = is_call and starts_arguments(ends.text, context.end)
    if not has_arguments and not _TOKEN_BEHIND.match(context.after):
        return Candidate(UNKNOWN, context.back(before), context.end, MENTIONED)
    return Candidate(UNKNOWN, context.back(before), ends.line(context.end), ENVELOPE)


def label_shape(context: NameContext, ends: CallEnds) -> Candidate | None:
    """`tool: get_weather` with arguments behind it or on the next lines."""
    bracket = _BRACKET_LABEL.search(context.name_before)
    if bracket and (rest := _BRACKET_BEHIND.match(context.after)):
        return Candidate(UNKNOWN, context.back(bracket), context.end + rest.end(), ENVELOPE)
    label = _LABEL.search(context.before) or _LABEL.search(context.name_before)
    if label is None:
        return None
    start = context.back(label) + len(label.group()) - len(label.group().lstrip())
    if starts_arguments(ends.text, context.end, context.place.properties):
        return Candidate(UNKNOWN, start, _arguments_end(context, ends), ENVELOPE)
    return Candidate(UNKNOWN, start, context.end, MENTIONED)


def _arguments_end(context: NameContext, ends: CallEnds) -> int:
    opening = _FIRST_BRACKET.match(ends.text, context.end)
    end = ends.balanced(opening.end() - 1) if opening else -1
    if end >= 0:
        return ends.pass_closers(end)
    blank = ends.literal("\n\n", context.end)
    return blank - 2 if blank >= 0 else len(ends.text.rstrip())


_SHAPES: tuple[Shape, ...] = (
    tag_shape,
    attribute_shape,
    element_shape,
    token_shape,
    json_value_shape,
    json_key_shape,
    label_shape,
    bracket_shape,
    code_shape,
    object_shape,
    command_shape,
)
