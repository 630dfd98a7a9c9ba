from __future__ import annotations

import re
from dataclasses import replace

from probes.parsers.base import Parameters, RawCall
from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading, TagSearch
from probes.parsers.tag_formats.named_tags import NamedCalls, named_tags, read_named_calls

NAME = "muse_glimmer"
START = "<|start|>"
MESSAGE = "<|message|>"
SECTION = "<atem:function_calls>"
OPEN = "<atem:invoke name="
ENDS = ("<|eom|>", "<|eot|>")
CLOSERS = ("</atem:invoke>", "</atem:function_calls>", *ENDS)
MAX_HEADER = 320

TAGS = named_tags("atem:invoke", "atem:parameter", "</atem:function_calls>", *ENDS)
_STOPS = TagSearch(re.compile(r"<\|(?:eom|eot|start)\|>"), (), "", (*ENDS, START))
_RECIPIENT = re.compile(r"(?:assistant[ \t]{1,4})?(?:to=)?([\w.-]{1,256})")


def _tool_name(name: str, context: ParseContext) -> str:
    # The template declares `f` as the recipient `f.*`, so that models write `f.f`.
    head, _, tail = name.partition(".")
    return head if head == tail and context.knows(head) and not context.knows(name) else name


INVOKES = NamedCalls(NAME, TAGS, (OPEN,), CLOSERS, _tool_name)
# In a message to a tool nothing else can stand.
ADDRESSED = replace(INVOKES, tags=replace(TAGS, unknown_names=True))


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<atem:function_calls><atem:invoke name="f"><atem:parameter name="a">1`, closed likewise."""
    if opener != OPEN and not (yield from cursor.skip(OPEN)):
        return False
    return (yield from read_named_calls(cursor, context, INVOKES))


def read_message(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<|start|>assistant to=f<|message|>`, then the call; to=self is reasoning, to=user text.

    The first message has no start: the prompt ends in `<|start|>assistant`.
    """
    yield from cursor.skip_space()
    head = yield from cursor.until(MAX_HEADER, MESSAGE)
    header = f"{opener.removeprefix(START)}{head[0]}" if head else ""
    recipient = _RECIPIENT.fullmatch(header) if "to=" in header else None
    if recipient is None:
        return False
    cursor.take(len(MESSAGE))
    if recipient[1] not in ("self", "user"):
        return (yield from _addressed(cursor, context, recipient[1]))
    if context.reasoning:
        return False
    context.framed = True
    context.out.decide()
    if recipient[1] == "self":
        yield from _reasoning(cursor, context)
    return True


def _addressed(cursor: Cursor, context: ParseContext, recipient: str) -> Reading[bool]:
    section = yield from cursor.skip(SECTION)
    if (yield from cursor.skip(OPEN)):
        context.framed = True
        return (yield from read_named_calls(cursor, context, ADDRESSED))
    if not (yield from cursor.at_end(OPEN, *(() if section else (SECTION,)))):
        return False
    cursor.take(len((yield from cursor.peek(MAX_HEADER))))
    call = RawCall(recipient, Parameters(()), NAME, "", closed=False, open_value=True)
    return context.emit_call(cursor, call, unknown=True)


def _reasoning(cursor: Cursor, context: ParseContext) -> Reading[None]:
    # First the header, so that no part of a prefilled one is taken off the reasoning.
    context.pass_markup(cursor)
    context.out.open_reasoning()
    match = yield from cursor.search(_STOPS, context.out.prose)
    if match is not None:
        if match.group() in ENDS:
            cursor.take(len(match.group()))
        context.out.close_reasoning()


PARSER = Parser(NAME, (SECTION, OPEN), read_calls)
MESSAGES = Parser(NAME, (START,), read_message, anywhere=True)
FIRST = Parser(NAME, ("to=",), read_message, whole=True)
