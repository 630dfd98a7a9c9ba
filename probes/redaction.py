from __future__ import annotations

import base64
import html
import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate, chain, islice
from urllib.parse import quote, quote_plus

from probes.messages import JSON
from probes.secret import Secret

MARK = "[redacted]"
# A cut answer may end inside the secret; a shorter piece than this reveals nothing.
_MIN_TAIL = 6
# The stable middle of a base64 text; a shorter one would match by chance.
_MIN_CORE = 8
# A key of fewer characters, or a word of fewer letters, occurs in ordinary text by chance.
_MIN_KEY = 8
_MIN_LETTERS = 16
_WHITESPACE = b" \t\r\n\v\f"
# What may stand between the characters of an echo, and what an escape in JSON leaves of it.
_BETWEEN = rb"(?:\s|\\[nrt])*"
_BEFORE_HEX = rb"(?:%|\\x|0x)?"
_BETWEEN_HEX = rb"(?:[\s:,%-]|\\x|0x)*"


class Redactor:
    """Replaces every spelling of a secret, and makes text safe to store and display.

    An endpoint may echo the Authorization header anywhere: body, header, redirect, error text.
    SECURITY.md lists the spellings. A key that is a word is replaced only where it is one.
    """

    def __init__(self, secret: Secret | None) -> None:
        value = secret.reveal() if secret else ""
        self._is_word = _is_word(value)
        exact = _base64_forms(value.encode("utf-8", "replace")) if value else set()
        texts = _text_forms(value) if value else set()
        # Of a word, another case or order is another word.
        self._exact = _longest_first(exact | texts if self._is_word else exact)
        folded = set() if self._is_word else {form.lower() for form in texts | {_reverse(value)}}
        self._folded = _longest_first(folded)
        self._spread = [] if self._is_word else _spread_forms(value, exact)

    def text(self, text: str) -> str:
        """The text without the secret, NUL and lone surrogates, which no database text can hold."""
        data = without_surrogates(text).replace("\0", "␀").encode("utf-8")
        return self.data(data).decode("utf-8", "replace")

    def data(self, data: bytes) -> bytes:
        """The bytes without the secret."""
        return self.chunks([data])[0]

    def chunks(self, chunks: Sequence[bytes]) -> list[bytes]:
        """The same chunks without the secret, also where it spans several.

        The mark is in the chunk in which the secret begins.
        """
        joined = b"".join(chunks)
        spans = _merge(self._spans(joined))
        if not spans:
            return list(chunks)
        ends = list(accumulate(len(chunk) for chunk in chunks))
        starts = [0, *ends[:-1]]
        return [_cut(joined, start, end, spans) for start, end in zip(starts, ends, strict=True)]

    def json(self, value: JSON) -> JSON:
        """The value with every string and every key redacted."""
        match value:
            case str():
                return self.text(value)
            case Mapping():
                return {self.text(key): self.json(item) for key, item in value.items()}
            case list() | tuple():
                return [self.json(item) for item in value]
            case _:
                return value

    def _spans(self, data: bytes) -> Iterator[tuple[int, int]]:
        folded = data.lower()
        found = [_find(data, form) for form in self._exact]
        found += [_find(folded, form) for form in self._folded]
        for start, end in chain.from_iterable(found):
            if not self._is_word or _is_whole_word(data, start, end):
                yield start, end
        yield from self._spread_spans(data, folded)

    def _spread_spans(self, data: bytes, folded: bytes) -> Iterator[tuple[int, int]]:
        if not self._spread:
            return
        # Squeezing is far quicker than the patterns, which few texts need.
        views = {
            _View.EXACT: (data, _squeeze(data)),
            _View.FOLDED: (folded, _squeeze(folded)),
            _View.HEX: (folded, _squeeze_hex(folded)),
        }
        for spread in self._spread:
            text, squeezed = views[spread.view]
            if spread.squeezed in squeezed:
                yield from (match.span() for match in re.finditer(spread.pattern, text))


class _View(Enum):
    """How a text is looked at: as it is, in lower case, or as hexadecimal digits."""

    EXACT = "exact"
    FOLDED = "folded"
    HEX = "hex"


@dataclass(frozen=True, slots=True)
class _SpreadForm:
    """A spelling whose characters may stand apart, such as hex in pairs or wrapped base64."""

    squeezed: bytes
    pattern: bytes  # compiled when it is needed, which takes milliseconds
    view: _View


def without_surrogates(text: str) -> str:
    """The text with lone surrogates replaced by U+FFFD; no UTF-8 can carry them."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _is_word(value: str) -> bool:
    """Whether it is short, or letters of one case: a placeholder rather than a key."""
    is_plain = value.isalpha() and (value[1:].islower() or value.isupper())
    return len(value) < (_MIN_LETTERS if is_plain else _MIN_KEY)


def _is_whole_word(data: bytes, start: int, end: int) -> bool:
    before, after = data[start - 1 : start + 1], data[end - 1 : end + 1]
    return not (start and before.isalnum()) and not (end < len(data) and after.isalnum())


def _longest_first(forms: set[bytes]) -> list[bytes]:
    return sorted(forms, key=len, reverse=True)


def _find(data: bytes, form: bytes) -> Iterator[tuple[int, int]]:
    at = data.find(form)
    while at >= 0:
        yield at, at + len(form)
        at = data.find(form, at + 1)
    if tail := _tail(data, form):
        yield len(data) - tail, len(data)


def _reverse(value: str) -> bytes:
    return value[::-1].encode("utf-8", "replace")


def _spread_forms(value: str, base64_forms: set[bytes]) -> list[_SpreadForm]:
    plain = value.encode("utf-8", "replace")
    folded = [_spread_form(form.lower(), _View.FOLDED) for form in (plain, _reverse(value))]
    exact = [_spread_form(form, _View.EXACT) for form in base64_forms]
    digits = plain.hex().encode()
    pattern = _BEFORE_HEX + _BETWEEN_HEX.join(bytes([digit]) for digit in digits)
    return [*folded, *exact, _SpreadForm(digits, pattern, _View.HEX)]


def _spread_form(form: bytes, view: _View) -> _SpreadForm:
    pattern = _BETWEEN.join(re.escape(bytes([byte])) for byte in form)
    return _SpreadForm(_squeeze(form), pattern, view)


def _squeeze(data: bytes) -> bytes:
    for escape in (b"\\n", b"\\r", b"\\t"):
        data = data.replace(escape, b"")
    return data.translate(None, _WHITESPACE)


def _squeeze_hex(data: bytes) -> bytes:
    return data.replace(b"0x", b"").replace(b"\\x", b"").translate(None, _WHITESPACE + b":,%-")


def _text_forms(value: str) -> set[bytes]:
    ascii_json = json.dumps(value)[1:-1]
    spellings = {
        value,
        ascii_json,
        ascii_json.replace("/", "\\/"),
        json.dumps(value, ensure_ascii=False)[1:-1],
        "".join(f"\\u{ord(char):04x}" for char in value),
        "".join(f"\\u{ord(char):04X}" for char in value),
        html.escape(value),
        repr(value)[1:-1],
        quote(value),
        quote(value, safe=""),
        quote_plus(value),
        quote(quote(value, safe=""), safe=""),
        "".join(f"&#{ord(char)};" for char in value),
        "".join(f"&#x{ord(char):x};" for char in value),
    }
    spellings |= {_lower_escapes(text) for text in spellings if "%" in text}
    # The arguments of a call are JSON inside JSON, and an echo may nest them once more.
    for _ in range(2):
        spellings |= {json.dumps(text)[1:-1] for text in spellings}
    return {text.encode("utf-8", "replace") for text in spellings}


def _lower_escapes(text: str) -> str:
    head, *escapes = text.split("%")
    return head + "".join(f"%{part[:2].lower()}{part[2:]}" for part in escapes)


def _base64_forms(data: bytes) -> set[bytes]:
    whole = {base64.b64encode(text) for text in (data, b"Bearer " + data)}
    cores = {_base64_core(data, offset) for offset in range(3)}
    forms = whole | {form.rstrip(b"=") for form in whole}
    forms |= {core for core in cores if len(core) >= _MIN_CORE}
    return forms | {form.translate(bytes.maketrans(b"+/", b"-_")) for form in forms}


def _base64_core(data: bytes, offset: int) -> bytes:
    """The part of a base64 text that depends on the data alone after `offset` other bytes."""
    encoded = base64.b64encode(b"\0" * offset + data).rstrip(b"=")
    first = (0, 2, 3)[offset]
    # The last character also has bits of the following data.
    last = len(encoded) if (offset + len(data)) % 3 == 0 else len(encoded) - 1
    return encoded[first:last]


def _tail(data: bytes, form: bytes) -> int:
    """How many bytes at the end of the data are the start of the form."""
    if form[:_MIN_TAIL] not in data[-len(form) :]:
        return 0
    for length in range(min(len(form) - 1, len(data)), _MIN_TAIL - 1, -1):
        if data.endswith(form[:length]):
            return length
    return 0


def _merge(spans: Iterator[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _cut(data: bytes, start: int, end: int, spans: list[tuple[int, int]]) -> bytes:
    pieces: list[bytes] = []
    at = start
    first = bisect_right(spans, start, key=lambda span: span[1])
    for span_start, span_end in islice(spans, first, None):
        if span_start >= end:
            break
        pieces.append(data[at : max(at, span_start)])
        if span_start >= start:
            pieces.append(MARK.encode())
        at = min(span_end, end)
    pieces.append(data[at:end])
    return b"".join(pieces)
