from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.redaction import MARK, Redactor
from probes.secret import Secret

VALUE = 'sk-canary/4711+zebra"&\\end'
# Not a word: those are replaced only where they stand alone.
PRINTABLE = st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126), min_size=8).filter(
    lambda key: not key.isalpha()
)
SPELLINGS: list[Callable[[str], str]] = [
    lambda key: key,
    lambda key: json.dumps(key)[1:-1],
    lambda key: json.dumps(key)[1:-1].replace("/", "\\/"),
    lambda key: json.dumps(json.dumps(key)[1:-1])[1:-1],
    lambda key: json.dumps(json.dumps(json.dumps(key)[1:-1])[1:-1])[1:-1],
    lambda key: "".join(f"\\u{ord(char):04x}" for char in key),
    lambda key: quote(key, safe=""),
    lambda key: re.sub("%..", lambda escape: escape[0].lower(), quote(key, safe="")),
    html.escape,
    lambda key: base64.b64encode(key.encode()).decode(),
    lambda key: base64.b64encode(f"Bearer {key}".encode()).decode(),
    lambda key: base64.urlsafe_b64encode(key.encode()).decode().rstrip("="),
    str.upper,
    str.lower,
    str.swapcase,
    lambda key: key[::-1],
    lambda key: key[::-1].upper(),
    " ".join,
    lambda key: "\n".join([key[:5], key[5:9], key[9:]]),
    lambda key: key.encode().hex(),
    lambda key: key.encode().hex().upper(),
    lambda key: key.encode().hex(" "),
    lambda key: key.encode().hex(":"),
    lambda key: "".join(f"\\x{byte:02x}" for byte in key.encode()),
    lambda key: ", ".join(f"0x{byte:02X}" for byte in key.encode()),
    lambda key: "".join(f"%{byte:02X}" for byte in key.encode()),
    lambda key: "".join(f"%{byte:02x}" for byte in key.encode()),
    lambda key: "".join(f"&#{ord(char)};" for char in key),
    lambda key: "".join(f"&#x{ord(char):X};" for char in key),
    lambda key: quote(quote(key, safe=""), safe=""),
]


@pytest.mark.parametrize("spell", SPELLINGS)
def test_every_spelling_of_a_secret_is_replaced(spell: Callable[[str], str]) -> None:
    """However an endpoint echoes our key, it is redacted."""
    echoed = spell(VALUE)

    cleaned = Redactor(Secret(VALUE)).text(f"before {echoed} after")

    assert cleaned == f"before {MARK} after"


WORDS = ["redir", "key", "EMPTY", "reject", "endpoint", "x", "dummy"]


@pytest.mark.parametrize("word", WORDS)
def test_a_key_that_is_a_word_eats_no_other_words(word: str) -> None:
    """It is replaced as a whole word only: the sentences around it stay readable."""
    text = "The endpoint redirects us. Two keys, rejected by dummyness; xx EMPTYx endpoints"
    redactor = Redactor(Secret(word))

    cleaned = redactor.text(f"{text} ({word}) rider")

    assert cleaned == f"{text.replace(f' {word} ', f' {MARK} ')} ({MARK}) rider"
    assert redactor.text(f'{{"key":"{word}"}}').endswith(f':"{MARK}"}}')


def test_a_key_that_is_no_word_is_replaced_within_others() -> None:
    """An echo need not leave spaces around it."""
    assert Redactor(Secret("sk-4711-zebra")).text("xsk-4711-zebras") == f"x{MARK}s"


@given(st.binary(max_size=9), st.binary(max_size=9))
def test_a_secret_inside_any_base64_text_is_replaced(head: bytes, tail: bytes) -> None:
    """The key is found at any offset in a base64 text."""
    encoded = base64.b64encode(head + VALUE.encode() + tail).decode()

    cleaned = Redactor(Secret(VALUE)).text(encoded)

    middle = base64.b64encode(VALUE.encode()[3:-3]).decode()[:12]
    assert MARK in cleaned
    assert middle not in cleaned


def test_a_secret_in_wrapped_base64_is_replaced() -> None:
    """Mail and PEM break base64 into lines."""
    encoded = base64.encodebytes(f"authorization: Bearer {VALUE * 4} and more".encode()).decode()
    assert encoded.count("\n") > 1

    cleaned = Redactor(Secret(VALUE)).text(encoded)

    rest = cleaned.replace(MARK, "").replace("\n", "").rstrip("=")
    assert b"canary" not in base64.b64decode(rest + "=" * (-len(rest) % 4))
    assert len(rest) < 60


@given(PRINTABLE, st.lists(st.text(), max_size=4), st.data())
def test_a_secret_cut_over_chunks_is_replaced(
    key: str, around: list[str], data: st.DataObject
) -> None:
    """However the bytes are cut, no secret remains, and the rest is kept in order."""
    whole = key.join(["<", *around, ">"]).encode("utf-8", "replace")
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    chunks = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    redactor = Redactor(Secret(key))

    cleaned = redactor.chunks(chunks)

    assert len(cleaned) == len(chunks)
    assert b"".join(cleaned) == redactor.data(whole)
    assert key in MARK or key.encode() not in b"".join(cleaned)


def test_chunks_keep_what_is_not_secret_where_it_was() -> None:
    """The mark is where the secret began; its rest is removed from the next chunks."""
    chunks = [b"one sk-ca", b"nary-4", b"711 two", b" three"]

    cleaned = Redactor(Secret("sk-canary-4711")).chunks(chunks)

    assert cleaned == [b"one [redacted]", b"", b" two", b" three"]


def test_a_secret_cut_off_at_the_end_is_replaced() -> None:
    """An answer that ends inside the key leaves no part of it."""
    cleaned = Redactor(Secret("sk-canary-4711")).data(b"key: sk-canary-4")

    assert cleaned == b"key: [redacted]"


@given(PRINTABLE, st.recursive(st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)))
def test_no_secret_is_left_in_keys_or_values(key: str, value: object) -> None:
    """JSON of any shape is clean afterwards, keys included."""
    redactor = Redactor(Secret(key))

    cleaned = redactor.json({key: [value, f"x{key}"], "n": 1})  # type: ignore[list-item]

    assert key in MARK or key not in json.dumps(cleaned, ensure_ascii=False)


def test_text_is_made_fit_for_a_table() -> None:
    """NUL and lone surrogates, which Postgres refuses, become visible characters."""
    assert Redactor(None).text("a\0b\ud800c") == "a␀b\ufffdc"


def test_without_a_secret_nothing_is_replaced() -> None:
    """An endpoint without a key keeps its text as it is."""
    assert Redactor(None).text("Bearer nothing") == "Bearer nothing"
