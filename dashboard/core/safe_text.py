"""Text from models and endpoints, made safe to display: no active and no hidden characters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from health.translation import say_many

# How much of a text a page shows at first, and how much on “show all”.
SHOWN_LENGTH = 64 * 1024
MAX_SHOWN_LENGTH = 1024 * 1024

_PLAIN = re.compile(r"[\n\t -~]*")
_KEPT = {"\n", "\t"}
# Invisible letters that Unicode does not class as controls.
_BLANKS = {"\u115f", "\u1160", "\u3164", "\uffa0", "\u2800", "\u034f"}


@dataclass(frozen=True, slots=True)
class MarkSpan:
    """A range of a text, `end` excluded, and the mark it gets."""

    start: int
    end: int
    mark: str


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A part of a text, already safe, with its mark.

    `is_first` is where a link to the mark leads.
    """

    text: str
    mark: str = ""
    is_first: bool = False


@dataclass(frozen=True, slots=True)
class MarkedText:
    """A text in pieces, and how many of its characters are not shown."""

    pieces: tuple[TextPiece, ...]
    left_out: int = 0

    @property
    def marks(self) -> frozenset[str]:
        return frozenset(piece.mark for piece in self.pieces if piece.mark)


def visible(text: str) -> str:
    """The text with every control, bidi, zero-width and private character spelled out."""
    if _PLAIN.fullmatch(text):
        return text
    return "".join(map(_glyph, text))


def clip(text: str, limit: int = SHOWN_LENGTH) -> str:
    """The first part of a text, with a note on how much is not shown."""
    if len(text) <= limit:
        return text
    left_out = len(text) - limit
    note = say_many(
        "{count} more character is not shown.", "{count} more characters are not shown.", left_out
    )
    return f"{text[:limit]}\n… {note.format(count=f'{left_out:,}')}"


def mark_text(text: str, spans: Iterable[MarkSpan] = (), limit: int = SHOWN_LENGTH) -> MarkedText:
    """The first part of a text, safe, with marks. Where spans overlap, the first wins."""
    shown = text[:limit]
    pieces: list[TextPiece] = []
    seen: set[str] = set()
    at = 0
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        start, end = max(at, span.start), min(span.end, len(shown))
        if start >= end:
            continue
        pieces += [TextPiece(visible(shown[at:start]))] if start > at else []
        pieces.append(TextPiece(visible(shown[start:end]), span.mark, span.mark not in seen))
        seen.add(span.mark)
        at = end
    pieces += [TextPiece(visible(shown[at:]))] if at < len(shown) else []
    return MarkedText(tuple(pieces), len(text) - len(shown))


@lru_cache(maxsize=4096)
def _glyph(char: str) -> str:
    if char in _KEPT:
        return char
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if char in _BLANKS or _is_hidden(char):
        return f"⟦U+{code:04X}⟧"
    return char


def _is_hidden(char: str) -> bool:
    # Cc and Cf: controls, bidi, zero-width, tags. Co, Cs, Cn: no agreed look. Zl, Zp: line breaks.
    category = unicodedata.category(char)
    variation = "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"
    return category in {"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"} or variation
