from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeAlias

from probes.messages import Location
from probes.parsers.base import RawCall
from probes.parsers.cursor import Cursor
from probes.parsers.markup import CERTAIN, Markup, MarkupReason
from probes.parsers.text_items import ReasoningText, TextItem, VisibleText

# How much text may wait for a closing think tag that had no opening one.
MAX_HELD = 64 * 1024


@dataclass(slots=True)
class _HeldCalls:
    """Calls in a row, and the part of the text that they were read from."""

    location: Location
    start: int
    end: int = -1  # unknown while more calls may follow
    calls: list[RawCall] = field(default_factory=list)
    space: list[str] = field(default_factory=list)  # behind calls in reasoning


_HeldItem: TypeAlias = _HeldCalls | ReasoningText


class Output:
    """What was found, in order.

    White space that stands only between the start of the text, think tags and calls is layout of
    the format and is left out; white space beside words is kept.

    With `lone_close` text is held until it is decided whether it was reasoning whose opening tag
    the prompt had already given: a closing tag decides for reasoning; a call that runs, MAX_HELD
    characters or the end of the text decide against it.

    A call is held until the text ends. If words follow it, it was quoted: then it is text, and
    `withheld` says so. A call in reasoning runs only if no other call and no words follow. A call
    that the prompt began runs whatever follows; so does, with `text_follows`, a call with no
    visible words before it.
    """

    def __init__(
        self, cursor: Cursor, *, lone_close: bool, text_follows: bool = False, prefilled: int = 0
    ) -> None:
        self.location = Location.CONTENT
        self.blank = True  # no visible word since the start, a think tag or a call
        self.at_start = True  # no visible word and no call since the start or a think tag
        self.thought = False  # reasoning was closed before
        self.withheld: list[Markup] = []
        self.attempt = 0  # the offset at which a parser began to read
        self._cursor = cursor
        self._text_follows = text_follows
        self._prefilled = prefilled  # characters of a prefill, which the model did not write
        self._skipped = prefilled  # those of them that were not passed yet
        self._words = False  # visible words were found
        self._found: list[TextItem] = []
        self._held: list[_HeldItem] = []
        self._space: list[str] = []
        self._text: list[str] = []  # visible text that was not handed out yet, in pieces
        self._text_size = 0
        self._decided = not lone_close
        # Text behind a think tag in the middle of an answer: reasoning, if it is closed.
        self._tentative = False
        self._tentative_from = 0
        self._before_tentative: list[str] = []

    @property
    def holds_calls(self) -> bool:
        return bool(self._held)

    def drain(self) -> list[TextItem]:
        if self._text and not self._holds_text:
            self._hand_out_text()
        if not self._found:
            return []
        items, self._found = self._found, []
        return items

    def prose(self, text: str) -> None:
        """Text that belongs to no call: visible, or reasoning where the reader is inside it."""
        if not self.blank and self.location is Location.CONTENT:
            # In the middle of visible text: nothing is held, no prefill is left.
            self._text.append(text)
            self._text_size += len(text)
            return
        if self._skipped:
            cut = min(self._skipped, len(text))
            self._skipped -= cut
            text = text[cut:]
        if not text:
            return
        if self.location is Location.REASONING:
            self._reason(text)
        elif self.blank and text.isspace():
            self._space.append(text)
        else:
            if self._held:
                self._withhold_followed(self._cursor.offset - len(text))
            self.blank = self.at_start = False
            self._words = True
            if self._space:
                self._say("".join(self._space))
                self._space.clear()
            self._say(text)

    def skip_markup(self, size: int) -> None:
        """Markup was passed; as much of it as was prefilled is accounted for."""
        self._skipped = max(0, self._skipped - size)

    def call(self, call: RawCall) -> None:
        self.skip_markup(len(call.raw))
        call = self._without_prefill(call)
        if self.location is Location.CONTENT:
            self._space.clear()
            self.blank = True
            self.at_start = False
            if self.attempt < self._prefilled or (self._text_follows and not self._words):
                self.settle()
                self._found.append(call)
                return
        self._open_held().calls.append(call)

    def settle(self) -> None:
        """Calls that are held run, whatever follows."""
        self._end_held(self._cursor.offset)
        self.decide()
        self._release(drafts=False)

    def open_reasoning(self) -> None:
        self._end_held(self._cursor.offset)
        self.decide()
        self._space.clear()
        self.location = Location.REASONING

    def close_reasoning(self) -> None:
        self._end_held(self._cursor.offset)
        self._add(ReasoningText("", complete=True))
        self.location = Location.CONTENT
        self._start_over()

    def open_tentatively(self, tag: str) -> None:
        """Take what follows the tag as reasoning if it is closed; until then it is text."""
        if not self._tentative:
            if self._decided:
                self._hand_out_text()
            self._before_tentative, self._text = self._text, []
            self._tentative, self._tentative_from = True, self._text_size + len(tag)

    def close_tentative(self) -> bool:
        """Whether what stands behind the last think tag is reasoning, now closed."""
        if not self._tentative or self._text_size - self._tentative_from > MAX_HELD:
            return False
        pieces = self._text[1:]  # without the tag
        self._text, self._before_tentative = self._before_tentative, []
        self._tentative = False
        self.decide()
        self._found.append(ReasoningText("".join(pieces), complete=True))
        self._start_over()
        return True

    def close_unopened(self) -> bool:
        """A closing tag without an opening one: take what came before as reasoning, if allowed."""
        if not self._decided and self._text_size <= MAX_HELD:
            self._decided = True
            if self._tentative:
                self._give_up_tentative()
            self._move_to_reasoning()
            self._start_over()
            return True
        if self.thought and self.blank:
            self._space.clear()
            return True
        return False

    def end(self) -> None:
        """The text has ended: calls that are held run, as nothing follows them."""
        self._end_held(self._cursor.offset)
        self.decide()
        self._release(drafts=True)
        if self._space and self.at_start:
            self._say("".join(self._space))
        self._space.clear()

    def decide(self) -> None:
        """What was held is visible text after all."""
        self._decided = True
        self._hand_out_text()

    @property
    def _holds_text(self) -> bool:
        if self._tentative and self._text_size - self._tentative_from <= MAX_HELD:
            return True
        return not self._decided and self._text_size <= MAX_HELD

    def _give_up_tentative(self) -> None:
        self._text = [*self._before_tentative, *self._text]
        self._before_tentative = []
        self._tentative = False

    def _reason(self, text: str) -> None:
        last = self._held[-1] if self._held else None
        if not isinstance(last, _HeldCalls) or last.end >= 0:
            self._add(ReasoningText(text))
        elif text.isspace():
            last.space.append(text)
        else:
            self._end_held(self._cursor.offset - len(text))
            self._withhold_reasoning(last)
            self._add(ReasoningText(text))

    def _open_held(self) -> _HeldCalls:
        last = self._held[-1] if self._held else None
        if isinstance(last, _HeldCalls) and last.end < 0:
            return last
        held = _HeldCalls(self.location, self.attempt)
        self._held.append(held)
        return held

    def _end_held(self, end: int) -> None:
        last = self._held[-1] if self._held else None
        if isinstance(last, _HeldCalls) and last.end < 0:
            last.end = end

    def _release(self, *, drafts: bool) -> None:
        """Hand out what is held. Calls in reasoning count if `drafts` and no visible call does."""
        drafts = drafts and not any(
            isinstance(item, _HeldCalls) and item.location is Location.CONTENT
            for item in self._held
        )
        for item in self._held:
            if isinstance(item, ReasoningText):
                self._found.append(item)
            elif drafts or item.location is Location.CONTENT:
                self.at_start = False
                self._found += item.calls
                self._found += [ReasoningText(space) for space in item.space]
            else:
                source = self._withhold(item, MarkupReason.IN_REASONING)
                self._found.append(ReasoningText(source))
        self._forget_held()

    def _withhold_followed(self, end: int) -> None:
        """Visible words follow what is held, so it was quoted."""
        self._end_held(end)
        self._space.clear()
        for item in self._held:
            if isinstance(item, _HeldCalls) and item.location is Location.CONTENT:
                self._say(self._withhold(item, MarkupReason.FOLLOWED_BY_TEXT))
                continue
            self._hand_out_text()
            if isinstance(item, ReasoningText):
                self._found.append(item)
            else:
                source = self._withhold(item, MarkupReason.IN_REASONING)
                self._found.append(ReasoningText(source))
        self._forget_held()

    def _withhold_reasoning(self, held: _HeldCalls) -> None:
        """Reasoning goes on behind the calls that are held last."""
        self._held.pop()
        source = self._withhold(held, MarkupReason.IN_REASONING)
        if not self._held:
            self._forget_held()
        self._add(ReasoningText(source))

    def _withhold(self, held: _HeldCalls, reason: MarkupReason) -> str:
        """Report that calls do not run; return the text that they were read from."""
        for call in held.calls:
            self.withheld.append(Markup(call.format, call.span, reason, CERTAIN))
        return self._cursor.kept(max(held.start, self._prefilled), held.end)

    def _move_to_reasoning(self) -> None:
        """Take the visible text so far and the calls that are held as reasoning, now closed."""
        self._end_held(self._cursor.offset)
        before = "".join(self._text if self._held else (*self._text, *self._space))
        self._text.clear()
        if before and not before.isspace():
            self._found.append(ReasoningText(before, complete=not self._held))
        for item in self._held:
            if isinstance(item, _HeldCalls):
                item.location = Location.REASONING
                item.calls = [replace(call, location=item.location) for call in item.calls]
        if self._held:
            self._held.append(ReasoningText("", complete=True))

    def _without_prefill(self, call: RawCall) -> RawCall:
        start, end = call.span
        return replace(call, span=(max(0, start - self._prefilled), end - self._prefilled))

    def _forget_held(self) -> None:
        self._held.clear()
        self._cursor.forget()

    def _add(self, item: ReasoningText) -> None:
        if self._held:
            self._held.append(item)
        else:
            self._found.append(item)

    def _say(self, text: str) -> None:
        self._text.append(text)
        self._text_size += len(text)

    def _hand_out_text(self) -> None:
        if self._tentative:
            self._give_up_tentative()
        # One object for all pieces: a long text has very many.
        if self._text:
            self._found.append(VisibleText("".join(self._text)))
            self._text.clear()

    def _start_over(self) -> None:
        self._space.clear()
        self.blank = self.at_start = self.thought = True
