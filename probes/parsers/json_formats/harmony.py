from __future__ import annotations

import re

from probes.parsers.base import JsonText, RawCall
from probes.parsers.context import MAX_NAME, ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading, TagSearch
from probes.parsers.json_formats.json_output import skip_closers
from probes.parsers.json_formats.json_scan import JsonBody, read_values

NAME = "harmony"
MESSAGE = "<|message|>"
TOKENS = ("<|start|>", "<|channel|>")
# What is left of a header when the detokenizer drops special tokens.
STRIPPED = ("assistantcommentary to=functions.", "commentary to=functions.", "to=functions.")
ENDS = ("<|call|>", "<|end|>", "<|return|>")

_STOPS = TagSearch(re.compile(r"<\|(?:call|end|return|start|channel)\|>"), (), "", (*ENDS, *TOKENS))
_RECIPIENT = re.compile(r"\bto=([^\s<]{1,256})")
_CHANNEL = re.compile(r"<\|channel\|>\s{0,16}(\w{1,32})")
_NAME = re.compile(r"[\w.-]{1,256}")
_HEADER_WORDS = frozenset(
    {"json", "code", "channel", "commentary", "analysis", "final", "constrain", "message"}
)
_PEOPLE = frozenset({"assistant", "user", "system", "developer"})


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": 1}<|call|>`.

    A message with a tool as recipient is a call, on any channel; without one it is reasoning on
    the analysis channel and visible text on the others.
    """
    if opener in STRIPPED:
        return (yield from _read_stripped(cursor, context))
    head = yield from cursor.until(600, MESSAGE)
    if head is None:
        return False
    cursor.take(len(MESSAGE))
    header = opener + head[0]
    recipient = _RECIPIENT.search(header)
    if recipient is not None and recipient[1] not in _PEOPLE:
        return (yield from _call(cursor, context, recipient[1].removeprefix("functions.")))
    if context.reasoning:
        return False
    context.framed = True
    context.out.decide()
    channel = _CHANNEL.search(header)
    if channel is not None and channel[1] == "analysis":
        yield from _analysis(cursor, context)
    return True


def _call(cursor: Cursor, context: ParseContext, name: str) -> Reading[bool]:
    context.framed = True
    body = yield from _body(cursor)
    ended = yield from cursor.at_end(*ENDS)
    closed = bool(body.closer) or not ended
    open_value = not closed and not body.balanced
    call = RawCall(name, JsonText(body.text.strip()), NAME, "", "", closed, open_value)
    if not context.emit_call(cursor, call, unknown=True):
        return False
    yield from skip_closers(cursor, *ENDS)
    return True


def _body(cursor: Cursor) -> Reading[JsonBody]:
    if (yield from cursor.skip_space()) == "{":
        return (yield from read_values(cursor, ENDS, TOKENS))
    parts: list[str] = []
    match = yield from cursor.search(_STOPS, parts.append)
    closer = match.group() if match is not None else ""
    if closer in ENDS:
        cursor.take(len(closer))
    return JsonBody("".join(parts), balanced=False, closer=closer)


def _analysis(cursor: Cursor, context: ParseContext) -> Reading[None]:
    # First the header, so that no part of a prefilled one is taken off the reasoning.
    context.pass_markup(cursor)
    context.out.open_reasoning()
    match = yield from cursor.search(_STOPS, context.out.prose)
    cursor.mark()
    if match is not None:
        if match.group() in ENDS:
            cursor.take(len(match.group()))
        context.out.close_reasoning()


def _read_stripped(cursor: Cursor, context: ParseContext) -> Reading[bool]:
    head = yield from cursor.until(MAX_NAME + 64, "{")
    name = _NAME.match(head[0]) if head else None
    if head is None or name is None or not _is_header(head[0][name.end() :]):
        return False
    if not context.knows(name.group()):
        return False
    body = yield from read_values(cursor, ENDS, TOKENS)
    # The tokens that would end it are gone as well.
    closed = body.balanced or bool(body.closer)
    call = RawCall(name.group(), JsonText(body.text), NAME, "", "", closed, not closed)
    return context.emit_call(cursor, call)


def _is_header(text: str) -> bool:
    return all(word in _HEADER_WORDS for word in re.findall(r"\w+", text))


PARSER = Parser(NAME, (*TOKENS, *STRIPPED), read_calls, anywhere=True)
