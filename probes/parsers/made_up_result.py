"""The result of a call that the model wrote itself, instead of waiting for it."""

from __future__ import annotations

from probes.parsers.code_formats.pythonic import NOTHING
from probes.parsers.context import ParseContext
from probes.parsers.cursor import Cursor, Reading


def pass_made_up_result(cursor: Cursor, context: ParseContext, mark: str) -> Reading[None]:
    """Where the mark of a result stands, pass all that follows as text.

    What the model did next it did because of a result that no tool gave. Where the format was
    chosen, the call itself runs; otherwise it may be a transcript that is quoted.
    """
    gap = yield from cursor.gap()
    if context.reasoning or not (yield from cursor.starts_with(mark, ahead=gap)):
        return
    if context.single:
        context.out.settle()
    cursor.mark()
    yield from cursor.search(NOTHING, context.out.prose)
    cursor.mark()
