from __future__ import annotations

from probes.messages import Location
from probes.parsers.base import RawCall
from probes.parsers.text_items import ReasoningText, TextItem, VisibleText

# How much text may wait for a closing think tag that had no opening one.
MAX_HELD = 64 * 1024


class Output:
    """What was found, in order.

    White space that stands only between the start of the text, think tags and calls is layout of
    the format and is left out; white space beside words is kept.

    With `lone_close` text is held until it is decided whether it was reasoning whose opening tag
    the prompt had already given: a closing tag decides for reasoning; a call, MAX_HELD characters
    or the end of the text decide against it.
    """

    def __init__(self, *, lone_close: bool, skipped: int = 0) -> None:
        self.location = Location.CONTENT
        self.blank = True  # no visible word since the start, a think tag or a call
        self.at_start = True  # no visible word and no call since the start or a think tag
        self.thought = False  # reasoning was closed before
        self._skipped = skipped  # characters of a prefill, which the model did not write
        self._found: list[TextItem] = []
        self._space: list[str] = []
        self._text: list[str] = []  # visible text that was not handed out yet, in pieces
        self._text_size = 0
        self._decided = not lone_close

    def drain(self) -> list[TextItem]:
        if not self._holds:
            self._hand_out_text()
        items, self._found = self._found, []
        return items

    def prose(self, text: str) -> None:
        """Text that belongs to no call: visible, or reasoning where the reader is inside it."""
        if self._skipped:
            cut = min(self._skipped, len(text))
            self._skipped -= cut
            text = text[cut:]
        if not text:
            return
        if self.location is Location.REASONING:
            self._found.append(ReasoningText(text))
        elif self.blank and text.isspace():
            self._space.append(text)
        else:
            self.blank = self.at_start = False
            if self._space:
                self._say("".join(self._space))
                self._space.clear()
            self._say(text)

    def skip_markup(self, size: int) -> None:
        """Markup was passed; as much of it as was prefilled is accounted for."""
        self._skipped = max(0, self._skipped - size)

    def call(self, call: RawCall) -> None:
        self.skip_markup(len(call.raw))
        self.decide()
        if self.location is Location.CONTENT:
            self._space.clear()
            self.blank = True
            self.at_start = False
        self._found.append(call)

    def open_reasoning(self) -> None:
        self.decide()
        self._space.clear()
        self.location = Location.REASONING

    def close_reasoning(self) -> None:
        self._found.append(ReasoningText("", complete=True))
        self.location = Location.CONTENT
        self._start_over()

    def close_unopened(self) -> bool:
        """A closing tag without an opening one: take what came before as reasoning, if allowed."""
        if self._holds:
            before = "".join((*self._text, *self._space))
            self._text.clear()
            self._decided = True
            if before and not before.isspace():
                self._found.append(ReasoningText(before, complete=True))
            self._start_over()
            return True
        if self.thought and self.blank:
            self._space.clear()
            return True
        return False

    def end(self) -> None:
        self._decided = True
        if self._space and self.at_start:
            self._say("".join(self._space))
        self._space.clear()

    def decide(self) -> None:
        """What was held is visible text after all."""
        self._decided = True
        self._hand_out_text()

    @property
    def _holds(self) -> bool:
        return not self._decided and self._text_size <= MAX_HELD

    def _say(self, text: str) -> None:
        self._text.append(text)
        self._text_size += len(text)

    def _hand_out_text(self) -> None:
        # One object for all pieces: a long text has very many.
        if self._text:
            self._found.append(VisibleText("".join(self._text)))
            self._text.clear()

    def _start_over(self) -> None:
        self._space.clear()
        self.blank = self.at_start = self.thought = True
