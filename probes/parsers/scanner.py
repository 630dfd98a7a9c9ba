"""The one walk through a text: prose, think tags, and the places where a call may begin.

A call may begin at the start of a line, of the text, or behind a think tag or another call; a tag
also behind a sentence or a colon, if the call is whole; words that no prose contains anywhere. In
code, comments and quotations (`quoting.py`) nothing counts. A parser that does not recognise what
follows gives it back, and it is prose. Whether a call that was read runs depends on what follows
it (`output.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading
from probes.parsers.quoting import QUOTE_WORDS, TICK, TILDES, Quoting
from probes.parsers.reasoning_tags import (
    ANSWER,
    ANSWER_END,
    CLOSERS,
    ENDS,
    HEADERS,
    PHRASES,
    STOPS,
    TAGS,
    THINK,
    WRAPPERS,
)
from probes.parsers.truncated_calls import MAX_HEAD, begins_call
from probes.parsers.word_search import WordSearch

# Tags around calls whose own tags count at the start of a line.
_CALL_WRAPPERS = frozenset(
    {"<tool_call>", "<minimax:tool_call>", "<function_calls>", "<tool_calls>"}
)
_INNER_TAGS = ("<function=", "<invoke name=", "<invoke>")


class Formats:
    """Parsers by what they begin with; the same for all readers of a format."""

    def __init__(self, parsers: Iterable[Parser]) -> None:
        every = tuple(parsers)
        self.single = len({parser.name for parser in every}) == 1
        self.text_follows = any(parser.text_follows for parser in every)
        self.inner = tuple(parser for parser in every if not parser.whole)
        self.whole = tuple(parser for parser in every if parser.whole)
        # Code blocks that are calls. The search finds them by their first backtick.
        self.fences = tuple(
            opener for parser in self.inner for opener in parser.openers if opener[0] == TICK
        )
        self.whole_starts = frozenset(
            opener[0] for parser in self.whole for opener in parser.openers
        )


class Scanner:
    """Reads one text through a cursor into a scene's output."""

    def __init__(
        self, cursor: Cursor, context: ParseContext, formats: Formats, words: WordSearch
    ) -> None:
        self._cursor = cursor
        self._context = context
        self._out = context.out
        self._formats = formats
        self._words = words
        self._quoting = Quoting()
        self._closer = ""
        self._tried = False
        self._searching = False

    def scan(self) -> Reading[None]:
        """Read to the end of the text."""
        while True:
            if not self._tried:
                yield from self._whole_text()
            self._searching = True
            match = yield from self._cursor.search(self._words, self._prose)
            self._searching = False
            if match is None:
                self._out.end()
                return
            word = match.group()
            if word in QUOTE_WORDS:
                yield from self._quote(word)
            elif word in STOPS:
                self._stop(word)
            elif word in TAGS:
                self._tag(word)
            else:
                yield from self._call(word)

    def pass_plain(self, text: str) -> bool:
        """Pass a piece of text without any markup; False where it must be read."""
        if not self._searching or self._words.whole_or_unfinished.search(text):
            return False
        if not self._cursor.pass_plain(text):
            return False
        self._prose(text)
        return True

    def _prose(self, text: str) -> None:
        self._quoting.pass_text(text)
        self._out.prose(text)

    def _quote(self, word: str) -> Reading[None]:
        if word == TICK:
            yield from self._ticks()
        elif word == TILDES:
            tildes = yield from self._cursor.run(TILDES[0])
            self._quoting.pass_tildes(len(tildes), line_ends=(yield from self._line_ends()))
            self._out.prose(tildes)
        else:
            self._quoting.pass_html(word)
            self._out.prose(self._cursor.take(len(word)))

    def _ticks(self) -> Reading[None]:
        fence = yield from self._cursor.starts_with(*self._formats.fences)
        if fence and (yield from self._found_calls(fence)):
            return
        ticks = yield from self._cursor.run(TICK)
        self._quoting.pass_ticks(len(ticks), line_ends=(yield from self._line_ends()))
        self._out.prose(ticks)

    def _line_ends(self) -> Reading[bool]:
        return (yield from self._cursor.peek(1)) in ("", "\n", "\r", " ")

    def _stop(self, word: str) -> None:
        if self._behind_call or (word == ANSWER_END and self._context.in_answer):
            self._pass_tag(word)
        else:
            self._prose(self._cursor.take(len(word)))

    @property
    def _behind_call(self) -> bool:
        return self._context.calls > 0 and self._out.blank

    def _tag(self, word: str) -> None:
        if self._markup(word):
            self._pass_tag(word)
            self._quoting = Quoting()
            self._tried = False
        else:
            self._prose(self._cursor.take(len(word)))

    def _pass_tag(self, word: str) -> None:
        self._cursor.take(len(word))
        self._out.skip_markup(len(word))

    def _markup(self, word: str) -> bool:
        # Whether the tag does something here; otherwise it is text.
        if self._context.reasoning:
            if word == self._closer:
                self._out.close_reasoning()
            return word == self._closer
        if self._quoting.quoted:
            return self._closes_around_fence(word)
        if word in THINK:
            return self._opens_reasoning(word)
        if word == self._closer and self._out.close_tentative():
            return True
        if word in ENDS:
            return self._context.framed or self._behind_call
        if word in HEADERS:
            self._context.framed = True
        return word in WRAPPERS or (word in CLOSERS and self._out.close_unopened())

    def _opens_reasoning(self, word: str) -> bool:
        """Whether the tag opens reasoning for certain: it is the first of the text, or behind a
        think tag or a call. At the start of a later line that depends on whether it is closed.
        """
        first = self._out.at_start if word in PHRASES else self._out.blank
        if first:
            self._closer = THINK[word]
            self._out.open_reasoning()
        elif self._quoting.blank and word not in PHRASES:
            self._closer = THINK[word]
            self._out.open_tentatively(word)
        return first

    def _closes_around_fence(self, word: str) -> bool:
        """Whether the tag ends reasoning that the prompt opened and that has an open code block."""
        if word in THINK:
            self._context.think_quoted = True
        closes = word in CLOSERS and word not in ENDS and self._quoting.in_fence
        return closes and not self._context.think_quoted and self._out.close_unopened()

    def _call(self, word: str) -> Reading[None]:
        if (yield from self._found_calls(word)):
            return
        if word == ANSWER and self._out.thought and self._out.at_start:
            self._context.in_answer = True
            self._pass_tag(word)
        else:
            self._prose(self._cursor.take(1))

    def _found_calls(self, word: str) -> Reading[bool]:
        """Whether a parser reads what begins here; then it was passed."""
        calls = self._context.calls
        glued = word[0] == "<" and self._in_place
        glued = glued or (not self._quoting.blank and (yield from self._wraps_next_line(word)))
        parsers = self._parsers_of(word, anyhow=glued or self._quoting.blank)
        self._context.glued = glued
        for parser in parsers:
            done = yield from self._attempt(parser, word)
            if done:
                if self._context.calls > calls or self._out.blank:
                    self._quoting = Quoting()
                return True
        return bool(parsers) and (yield from self._cut_off(word, parsers[0]))

    @property
    def _in_place(self) -> bool:
        """Whether a call may begin here, in the middle of a line."""
        if self._quoting.blank or self._quoting.between_quotes:
            return False
        return self._formats.single or self._quoting.introduced

    def _wraps_next_line(self, word: str) -> Reading[bool]:
        """Whether behind a wrapper's tag the next line begins a call, which counts by itself."""
        if word not in _CALL_WRAPPERS:
            return False
        gap = yield from self._cursor.gap(ahead=len(word))
        ahead = yield from self._cursor.peek(len(word) + gap)
        if "\n" not in ahead:
            return False
        return bool((yield from self._cursor.starts_with(*_INNER_TAGS, ahead=len(ahead))))

    def _parsers_of(self, word: str, *, anyhow: bool) -> list[Parser]:
        if self._context.full or self._quoting.quoted or self._quoting.between_quotes:
            return []
        wanted = (parser for parser in self._formats.inner if word in parser.openers)
        return [parser for parser in wanted if anyhow or parser.anywhere]

    def _cut_off(self, word: str, parser: Parser) -> Reading[bool]:
        """Whether the length limit struck right behind the opening; then it is passed."""
        if not self._context.truncated:
            return False
        ahead = yield from self._cursor.peek(len(word) + MAX_HEAD + 1)
        rest = ahead[len(word) :]
        if len(rest) > MAX_HEAD or not begins_call(word, rest, self._context):
            return False
        self._cursor.mark()
        self._cursor.take(len(ahead))
        self._context.emit_cut_off(self._cursor, parser.name)
        return True

    def _whole_text(self) -> Reading[None]:
        whole = self._formats.whole
        if self._context.reasoning or not whole or not self._out.at_start:
            return
        self._tried = True
        first = yield from self._cursor.skip_space(self._prose)
        if first not in self._formats.whole_starts:
            return
        for parser in whole:
            opener = yield from self._cursor.starts_with(*parser.openers)
            if opener and (yield from self._attempt(parser, opener)):
                return

    def _attempt(self, parser: Parser, opener: str) -> Reading[bool]:
        """Let a parser read. True: it got somewhere, or what it read is now prose."""
        cursor, context = self._cursor, self._context
        calls = context.calls
        cursor.mark()
        cursor.keep()
        start = self._out.attempt = cursor.offset
        cursor.take(len(opener))
        success = yield from parser.read(cursor, context, opener)
        if not self._out.holds_calls:
            cursor.forget()
        if success:
            rest = cursor.since_mark()
            self._out.skip_markup(len(rest))
            cursor.mark()
            return True
        if not context.may_retry(cursor.offset - start, start):
            self._prose(cursor.since_mark())
            cursor.mark()
            return True
        cursor.rewind()
        return context.calls > calls
