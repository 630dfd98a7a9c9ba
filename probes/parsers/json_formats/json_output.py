from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from probes.parsers.base import JsonText, RawCall
from probes.parsers.context import MAX_CALLS, ParseContext
from probes.parsers.cursor import Cursor, Reading
from probes.parsers.json_formats.json_calls import (
    JsonCall,
    read_json_call,
    split_objects,
    without_comments,
)
from probes.parsers.json_formats.json_scan import JsonBody, read_values
from probes.resolve.json_repair import read_json


def emit_json_calls(
    cursor: Cursor,
    context: ParseContext,
    body: JsonBody,
    format: str,
    *,
    closers: tuple[str, ...] | None = (),
) -> Reading[bool]:
    """Hand out the calls that JSON objects say, all of them or, if one is none, not one.

    `closers` are the tags that may end them. With None there is no markup around them at all, and
    they count only under declared names.
    """
    calls = read_raw_calls(body, format)
    return (yield from emit_raw_calls(cursor, context, body, calls, closers=closers))


def read_raw_calls(
    body: JsonBody, format: str, read_call: Callable[[str], JsonCall | None] = read_json_call
) -> list[RawCall]:
    """The calls that JSON objects say; none at all if one of the objects is no call."""
    texts = split_objects(body.text, MAX_CALLS)
    calls = [read_call(text) for text in texts]
    if len(calls) > MAX_CALLS:
        return []
    found = [
        _raw_call(call, text, format, text if len(calls) > 1 else "")
        for call, text in zip(calls, texts, strict=True)
        if call is not None
    ]
    return found if len(found) == len(calls) else []


def emit_raw_calls(
    cursor: Cursor,
    context: ParseContext,
    body: JsonBody,
    calls: list[RawCall],
    *,
    closers: tuple[str, ...] | None = (),
) -> Reading[bool]:
    """Hand out calls that end with the body, all of them or, if one does not count, not one."""
    known = context.knows if closers is None else context.may_name
    if not calls or not all(known(call.name) for call in calls):
        return False
    ended = yield from cursor.at_end(*(closers or ()))
    found = [*calls[:-1], _ended(calls[-1], body, ended=ended)]
    if not all(map(context.counts, found)):
        return False
    for call in found:
        context.emit_call(cursor, call)
    return True


def emit_arguments(  # noqa: PLR0913 - what a format says about a call, by name
    cursor: Cursor,
    context: ParseContext,
    *,
    name: str,
    format: str,
    closers: tuple[str, ...],
    unknown: bool = False,
) -> Reading[bool]:
    """Pass the JSON object of a call's arguments, with its closing tag, and hand out the call."""
    body = yield from read_values(cursor, closers)
    ended = yield from cursor.at_end(*closers)
    closed = bool(body.closer) or not ended
    call = RawCall(
        name,
        JsonText(body.text.strip()),
        format,
        "",
        closed=closed,
        open_value=not closed and not body.balanced,
        notes=() if body.closer or not closed else ("missing_close",),
    )
    return context.emit_call(cursor, call, unknown=unknown)


def _raw_call(call: JsonCall, text: str, format: str, source: str) -> RawCall:
    # The ladder sees the arguments only, so what is wrong around them is said here.
    around = text.replace(call.arguments, "null", 1) if call.arguments else text
    read = read_json(around)
    arguments = JsonText(call.arguments or "")
    return RawCall(
        call.name, arguments, format, source, call.id, notes=read.repairs, fault=read.error or ""
    )


def _ended(last: RawCall, body: JsonBody, *, ended: bool) -> RawCall:
    closed = bool(body.closer) or not ended
    return replace(
        last,
        closed=closed,
        open_value=not closed and not body.balanced,
        notes=(*last.notes, *_leniencies(body, closed=closed)),
    )


def _leniencies(body: JsonBody, *, closed: bool) -> Iterator[str]:
    if closed and not body.closer:
        yield "missing_close"
    if without_comments(body.text) != body.text:
        yield "comments"
    if closed and not body.balanced and body.text.startswith("["):
        yield "unbalanced_call"
    if body.junk:
        yield "trailing_junk"


def is_empty(cursor: Cursor, opener: str) -> Reading[bool]:
    """Whether the closing tag follows right behind the opening one; then it is passed."""
    return bool((yield from cursor.skip(f"</{opener[1:]}")))


def skip_closers(cursor: Cursor, *closers: str) -> Reading[None]:
    """Pass the closing tags that stand here; one too many does no harm, nor does half of one."""
    while (yield from cursor.skip(*closers)):
        cursor.mark()
    gap = yield from cursor.gap()
    rest = yield from cursor.peek(gap + max(map(len, closers)))
    # One character alone may begin anything.
    if len(rest) > gap + 1 and (yield from cursor.at_end(*closers)):
        cursor.take(len(rest))
        cursor.mark()
