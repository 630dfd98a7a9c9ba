from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from probes.messages import Location, ToolSpec
from probes.parsers.base import Parameters, RawCall
from probes.parsers.cursor import Cursor, Reading
from probes.parsers.output import Output
from probes.resolve.tool_names import declared_name

MAX_CALLS = 10_000
MAX_NAME = 256
EMPTY = "The call is empty: there is nothing between its tags."
# Text that a parser gave back is read again; beyond this it is prose without a second look.
FREE_RETRIES = 1024 * 1024
RETRIES_PER_CHARACTER = 8

_NAME = re.compile(r"[^\W\d][\w.:/-]{0,255}")


class ParseContext:
    """What all parsers of one text share: the tools, the way out, and the bounds."""

    def __init__(
        self, tools: Sequence[ToolSpec], out: Output, *, truncated: bool, single: bool
    ) -> None:
        self.tools = tuple(tools)
        self.out = out
        self.truncated = truncated
        self.single = single  # one format was chosen, so what it reads is what the model writes
        self.calls = 0
        self.framed = False  # the header of a message was seen, so tokens that end one are markup
        self.think_quoted = False  # a think tag was seen in a quotation
        self.in_answer = False  # the tag of the answer was passed, so its end is markup
        self.kimi = False  # a section of Kimi K2 was seen, so its end token is markup
        self.glued = False  # the markup stands in the middle of a line
        self._spent = 0

    @property
    def full(self) -> bool:
        return self.calls >= MAX_CALLS

    def knows(self, name: str) -> bool:
        """Whether a name may be a tool's: declared, or any where no tools were given."""
        if not name or len(name) > MAX_NAME:
            return False
        return not self.tools or declared_name(name, self.tools) is not None

    def may_name(self, name: str) -> bool:
        """Whether a name behind the markup of a call may be meant as a tool's.

        An undeclared one may where no word stands before the markup: behind words it may be an
        example. The ladder refuses it, and tells which tools there are.
        """
        if self.knows(name):
            return True
        free = self.out.blank and not self.reasoning and not self.glued
        return free and _NAME.fullmatch(name) is not None

    def emit_call(self, cursor: Cursor, call: RawCall, *, unknown: bool = False) -> bool:
        """Hand out a call that ends here. False: it is none, its name is not a tool's.

        `unknown` lets undeclared names through, for markup that no prose contains.
        """
        usable = bool(call.name) and len(call.name) <= MAX_NAME
        if self.full or not (usable if unknown else self.counts(call)):
            return False
        self.calls += 1
        notes = call.notes
        if not call.closed:
            notes += ("unterminated",)
        # Behind parameters written one by one more may have been to come.
        incomplete = self.truncated or isinstance(call.arguments, Parameters)
        open_value = call.open_value or (incomplete and not call.closed)
        self._emit(cursor, replace(call, open_value=open_value, notes=notes))
        return True

    def emit_cut_off(self, cursor: Cursor, format: str) -> None:
        """Hand out a call of which only the opening arrived."""
        if not self.full:
            self.calls += 1
            call = RawCall("", Parameters(()), format, "", closed=False, open_value=True)
            self._emit(cursor, call)

    def emit_empty(self, cursor: Cursor, format: str) -> bool:
        """Hand out markup of a call with nothing in it. False: it may be prose."""
        if self.full or self.reasoning or self.glued:
            return False
        self.calls += 1
        self._emit(cursor, RawCall("", Parameters(()), format, "", fault=EMPTY))
        return True

    def _emit(self, cursor: Cursor, call: RawCall) -> None:
        source = cursor.since_mark()
        end = cursor.offset
        cursor.mark()
        self.out.call(
            replace(
                call,
                raw=call.raw or source,
                location=self.out.location,
                span=(end - len(source), end),
            )
        )

    def pass_markup(self, cursor: Cursor) -> None:
        """Leave out what was passed since the mark: it is neither text nor part of a call."""
        self.out.skip_markup(len(cursor.since_mark()))
        cursor.mark()

    def counts(self, call: RawCall) -> bool:
        """Whether a call that was read may be handed out here: half an example is prose."""
        whole = call.closed and not call.notes and not call.fault
        if self.glued and not whole:
            return False
        return self.knows(call.name) or (whole and self.may_name(call.name))

    def may_retry(self, size: int, offset: int) -> bool:
        """Whether so much text may be read a second time. Keeps the whole reading linear."""
        self._spent += size
        return self._spent <= FREE_RETRIES + RETRIES_PER_CHARACTER * offset

    @property
    def reasoning(self) -> bool:
        return self.out.location is Location.REASONING


@dataclass(frozen=True, slots=True)
class Parser:
    """One text format.

    `read` is called behind one of `openers`; it hands out calls through the scene, and answers
    False where the text is not of this format: then it is prose from the last call on.
    """

    name: str
    openers: tuple[str, ...]
    read: Callable[[Cursor, ParseContext, str], Reading[bool]]
    anywhere: bool = False  # no prose contains the openers; others count at a line's start only
    auto: bool = True  # tried where no format is asked for
    whole: bool = False  # the visible text must be nothing but calls; openers are its beginnings
    text_follows: bool = False  # models of this format write text behind their calls
