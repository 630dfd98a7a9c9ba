"""Model text in, in pieces of any size; visible text, reasoning and raw calls out, in order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from probes.messages import ToolSpec
from probes.parsers import PARSERS
from probes.parsers.base import RawCall
from probes.parsers.context import ParseContext
from probes.parsers.cursor import Cursor
from probes.parsers.markup import Markup
from probes.parsers.output import Output
from probes.parsers.quoting import QUOTE_WORDS, TICK
from probes.parsers.reasoning_tags import ANSWER, CLOSERS, STOPS, TAGS
from probes.parsers.scanner import Formats, Scanner
from probes.parsers.text_items import ReasoningText, TextItem, VisibleText, merge_items
from probes.parsers.word_search import WordSearch

__all__ = ["RawCall", "ReasoningText", "TextItem", "TextReader", "VisibleText", "read_text"]


class TextReader:
    """Reads one text of a model. Never raises on text; any split of it gives the same result.

    `format` is "auto" or a name in `PARSERS`. `prefill` is text that the prompt had already put
    into the model's mouth: an open think tag or call in it goes on in the text. `truncated`: the
    generation hit its length limit. `lone_close`: text is held back (at most 64 KiB, and only up
    to the first call) until it is known whether a closing think tag makes it reasoning; with False
    text is handed out at once and such a tag is text.
    """

    def __init__(
        self,
        tools: Sequence[ToolSpec] = (),
        *,
        format: str = "auto",
        prefill: str = "",
        truncated: bool = False,
        lone_close: bool = True,
    ) -> None:
        formats, words = _vocabulary(format)
        opening = _open_end(prefill, words) if prefill else ""
        thought = bool(prefill) and not opening and any(tag in prefill for tag in CLOSERS)
        self._cursor = Cursor()
        self._out = Output(
            self._cursor,
            lone_close=lone_close and not thought,
            text_follows=formats.single and formats.text_follows,
            prefilled=len(opening),
        )
        self._out.thought = thought
        context = ParseContext(tools, self._out, truncated=truncated, single=formats.single)
        self._scanner = Scanner(self._cursor, context, formats, words)
        self._scan = self._scanner.scan()
        self._closed = False
        if opening:
            self._cursor.push(opening)

    @property
    def withheld(self) -> Sequence[Markup]:
        """The calls that were read and do not run, because of the place they have in the text."""
        return self._out.withheld

    def feed(self, text: str) -> list[TextItem]:
        """What this piece, with those before it, settles."""
        if self._closed or not text:
            return []
        if not self._scanner.pass_plain(text):
            self._cursor.push(text)
            next(self._scan, None)
        return self._out.drain()

    def close(self) -> list[TextItem]:
        """What is left, now that no more text comes."""
        if self._closed:
            return []
        self._closed = self._cursor.eof = True
        for _ in self._scan:
            pass
        return self._out.drain()


def read_text(
    text: str,
    tools: Sequence[ToolSpec] = (),
    *,
    format: str = "auto",
    prefill: str = "",
    truncated: bool = False,
) -> list[TextItem]:
    """What a whole text says, adjacent texts merged."""
    reader = TextReader(tools, format=format, prefill=prefill, truncated=truncated)
    return merge_items([*reader.feed(text), *reader.close()])


# Say nothing about the text behind a prefill.
_NEUTRAL = frozenset({*QUOTE_WORDS, *STOPS})


@lru_cache(maxsize=64)
def _vocabulary(format: str) -> tuple[Formats, WordSearch]:
    groups = PARSERS.values() if format == "auto" else (PARSERS[format],)
    parsers = tuple(
        parser for group in groups for parser in group if parser.auto or format != "auto"
    )
    openers = (opener for parser in parsers if not parser.whole for opener in parser.openers)
    words = {opener for opener in openers if opener[0] != TICK}
    return Formats(parsers), WordSearch({*words, *TAGS, ANSWER, *STOPS, *QUOTE_WORDS})


def _open_end(prefill: str, words: WordSearch) -> str:
    # The part of a prefill that is still open: from its last think tag, if that is an opening one,
    # or from its last opening of a call. Anything else says nothing about the text that follows.
    matches = [match for match in words.pattern.finditer(prefill) if match.group() not in _NEUTRAL]
    if not matches:
        return ""
    last = matches[-1]
    return "" if last.group() in CLOSERS else prefill[last.start() :]
