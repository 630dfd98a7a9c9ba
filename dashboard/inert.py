"""Text from models and endpoints, made safe to look at: nothing in it acts, nothing hides."""

from __future__ import annotations

import unicodedata

# How much of one text a page shows; the rest stays in the evidence.
SHOWN = 64 * 1024

_KEPT = {"\n", "\t"}
# Letters that take room and show nothing; Unicode does not class them as controls.
_BLANKS = {"\u115f", "\u1160", "\u3164", "\uffa0", "\u2800", "\u034f"}


def visible(text: str) -> str:
    """The text with every control, bidi, zero-width and private character spelled out."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_glyph(char) for char in text)


def clip(text: str, limit: int = SHOWN) -> str:
    """The first part of a text, and a word on how much was left out."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}\n… {len(text) - limit:,} more characters are not shown."


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
