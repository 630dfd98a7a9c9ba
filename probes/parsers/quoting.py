"""Whether the place that a text has reached is inside a quotation: code, a comment, a quote."""

from __future__ import annotations

import re
from types import MappingProxyType

TICK = "`"
TILDES = "~~~"
# HTML around quoted text, and what ends it.
HTML_QUOTES = MappingProxyType(
    {
        "<pre>": "</pre>",
        "<pre ": "</pre>",
        "<code>": "</code>",
        "<code ": "</code>",
        "<!--": "-->",
    }
)
QUOTE_WORDS = frozenset({TICK, TILDES, *HTML_QUOTES, *HTML_QUOTES.values()})

# A line's first characters; what follows does not change what kind of line it is.
_HEAD = 64
# Pieces of text that may wait until somebody asks.
_MAX_UNREAD = 512
_LIST_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+")
# Python's prompt and Functionary's mark are not block quotes.
_BLOCK_QUOTE = re.compile(r"\s*>(?!>>\S)")
_INDENTED_CODE = re.compile(r" {0,3}\t| {4}")
_INTRODUCERS = frozenset(".!?…:)。！？：）")
_OPENING_QUOTES = frozenset("\"'“”‘«„「『(（")


class Quoting:
    """The line, code block and HTML element that the text has reached.

    A code block is opened by three or more backticks or tildes and closed by as many of them alone
    on a line. A code span is closed by as many backticks as opened it; one or two end with their
    line at the latest. `<pre>` and comments last until they are closed, `<code>` no longer than its
    paragraph.
    """

    def __init__(self) -> None:
        self._unread: list[str] = []  # text that was passed and not looked at yet
        self._blank = True
        self._head = ""
        self._last = ""  # the last character
        self._last_visible = ""  # the last that is not white space, in this line
        self._words = False  # a line with words came before this one
        self._fence = ""
        self._fence_line = False  # still in the line that opened the code block
        self._span = 0
        self._html = ""

    @property
    def blank(self) -> bool:
        """Whether nothing but white space stands in the line so far."""
        self._look()
        return self._blank

    @property
    def quoted(self) -> bool:
        """Whether nothing here can be a call, whatever it looks like."""
        self._look()
        if self._fence or self._span or self._html:
            return True
        if not self._head:
            return False
        return _BLOCK_QUOTE.match(self._head) is not None or self._indented

    @property
    def in_fence(self) -> bool:
        """Whether a code block was opened and not closed."""
        self._look()
        return bool(self._fence) or self._span >= 3

    @property
    def between_quotes(self) -> bool:
        """Whether an opening quotation mark or bracket stands right before this place."""
        self._look()
        return self._last in _OPENING_QUOTES

    @property
    def introduced(self) -> bool:
        """Whether a sentence or a colon ends before this place, in the same line."""
        self._look()
        last = self._last_visible
        return last in _INTRODUCERS or (last != "" and not last.isascii() and not last.isalnum())

    @property
    def _indented(self) -> bool:
        return self._words and self._blank and _INDENTED_CODE.match(self._head) is not None

    def pass_text(self, text: str) -> None:
        """Go on behind text without any of QUOTE_WORDS."""
        self._unread.append(text)
        if len(self._unread) > _MAX_UNREAD:
            self._look()

    def _look(self) -> None:
        if not self._unread:
            return
        text = "".join(self._unread)
        self._unread.clear()
        newline = text.rfind("\n")
        if newline >= 0:
            self._pass_lines(text, newline)
            text = text[newline + 1 :]
        if len(self._head) < _HEAD:
            self._head += text[:_HEAD]
        if text:
            self._last = text[-1]
            visible = text.rstrip()
            if visible:
                self._last_visible = visible[-1]
                self._blank = False

    def pass_ticks(self, size: int, *, line_ends: bool) -> None:
        """Go on behind a run of backticks; `line_ends`: nothing follows them in their line."""
        self._look()
        if self._html:
            pass
        elif self._fence:
            self._close_fence(TICK, size, line_ends=line_ends)
        elif self._span:
            self._span = 0 if size == self._span else self._span
        elif size >= 3 and self._starts_block:
            self._fence, self._fence_line = TICK * size, True
        else:
            self._span = size
        self._pass_mark(TICK)

    def pass_tildes(self, size: int, *, line_ends: bool) -> None:
        """Go on behind a run of three or more tildes."""
        self._look()
        if self._fence:
            self._close_fence("~", size, line_ends=line_ends)
        elif not self._html and not self._span and self._starts_block:
            self._fence, self._fence_line = "~" * size, True
        self._pass_mark("~")

    def pass_html(self, word: str) -> None:
        """Go on behind the beginning or the end of an HTML element."""
        self._look()
        if not self._fence and not self._span:
            if word == self._html:
                self._html = ""
            elif not self._html and word in HTML_QUOTES:
                self._html = HTML_QUOTES[word]
        self._pass_mark(word)

    @property
    def _starts_block(self) -> bool:
        return self._blank or _LIST_ITEM.fullmatch(self._head) is not None

    def _pass_lines(self, text: str, newline: int) -> None:
        if self._html == "</code>":
            self._end_paragraph(text[:newline].split("\n"))
        self._words = self._words or not self._blank or bool(text[:newline].strip())
        self._blank = True
        self._fence_line = False
        self._span = self._span if self._span >= 3 else 0
        self._head = self._last_visible = ""
        self._last = "\n"

    def _end_paragraph(self, lines: list[str]) -> None:
        # The first of the lines goes on behind what was passed before.
        first_is_blank = self._blank and not lines[0].strip()
        if first_is_blank or any(not line.strip() for line in lines[1:]):
            self._html = ""

    def _close_fence(self, character: str, size: int, *, line_ends: bool) -> None:
        if self._fence[0] != character or size < len(self._fence):
            return
        # Backticks that follow in the same line make it a code span.
        if (self._fence_line and character == TICK) or (line_ends and self._starts_block):
            self._fence = ""

    def _pass_mark(self, mark: str) -> None:
        self._head = (self._head + mark)[:_HEAD]
        self._last = self._last_visible = mark[-1]
        self._blank = False
