from __future__ import annotations

import pytest

from dashboard.core.safe_text import clip, visible


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain text\n\tkept", "plain text\n\tkept"),
        ("héllo 你好 → 🙂", "héllo 你好 → 🙂"),
        ("a\x00b", "a␀b"),
        ("\x1b[31mred", "␛[31mred"),
        ("\x7f", "␡"),
        ("\x9b31m", "⟦U+009B⟧31m"),
        ("user\u202egnp.exe", "user⟦U+202E⟧gnp.exe"),
        ("a\u2066b\u2069", "a⟦U+2066⟧b⟦U+2069⟧"),
        ("zero\u200bwidth\ufeff", "zero⟦U+200B⟧width⟦U+FEFF⟧"),
        ("line\u2028break", "line⟦U+2028⟧break"),
        ("\U000e0041", "⟦U+E0041⟧"),
        ("\ud800", "⟦U+D800⟧"),
        ("\u3164", "⟦U+3164⟧"),
        ("cr\rlf", "cr␍lf"),
    ],
)
def test_what_hides_is_spelled_out(text: str, expected: str) -> None:
    """Controls, bidi, zero-width and blank letters become visible; other text is unchanged."""
    assert visible(text) == expected


def test_a_long_text_is_cut_and_says_so() -> None:
    """A page shows the beginning and how much is missing."""
    assert clip("x" * 12, 10) == "xxxxxxxxxx\n… 2 more characters are not shown."
    assert clip("x" * 10, 10) == "x" * 10
