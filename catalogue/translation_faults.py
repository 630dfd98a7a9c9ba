"""Automatic checks of translations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from babel.messages.catalog import Catalog

from catalogue.chinese import find_entry
from catalogue.source_text import Message

# {name}, %(name)s, %%, %{y} of charts, <b> and </b>
_MARKUP = re.compile(r"%\{[^}]*\}|\{[^{}]*\}|%\([\w.]+\)[sd]|%%|</?[a-z][^>]*>")
_HAN = "[\u4e00-\u9fff]"
_MISSING_SPACE = re.compile(f"{_HAN}[A-Za-z0-9]|[A-Za-z0-9]{_HAN}")
_ASCII_PUNCTUATION = re.compile(f"{_HAN}[,;:!?]|{_HAN}\\.(?:$|\\s)")


def find_faults(catalog: Catalog, messages: Iterable[Message]) -> list[str]:
    """One line per text that is missing, obsolete, or does not fit its translation."""
    expected = set(messages)
    faults = [line for message in sorted(expected) for line in _message_faults(catalog, message)]
    known = {(message.singular, message.context) for message in expected}
    for old in catalog:
        singular = old.id[0] if isinstance(old.id, tuple | list) else old.id
        if singular and (singular, old.context or "") not in known:
            faults.append(f"no longer in the sources: {singular!r}")
    return faults


def _message_faults(catalog: Catalog, message: Message) -> Iterator[str]:
    entry = find_entry(catalog, message)
    if entry is None:
        yield f"not in the catalogue: {message.singular!r}"
    elif entry.fuzzy:
        yield f"fuzzy: {message.singular!r}"
    else:
        texts = entry.string if isinstance(entry.string, tuple | list) else (entry.string,)
        for text in texts:
            yield from _text_faults(message, text or "")


def _text_faults(message: Message, text: str) -> Iterator[str]:
    source = message.plural or message.singular
    if not text:
        yield f"not translated: {source!r}"
        return
    if _count_markup(text) != _count_markup(source):
        yield f"other placeholders or tags: {source!r} -> {text!r}"
    if text != text.strip() and source == source.strip():
        yield f"spaces at an end: {text!r}"
    if message.context.startswith("format of"):
        return
    plain = _MARKUP.sub("\x00", text)
    if _MISSING_SPACE.search(plain):
        yield f"no space between Chinese and Latin: {text!r}"
    if _ASCII_PUNCTUATION.search(plain):
        yield f"a narrow mark after Chinese: {text!r}"


def _count_markup(text: str) -> Counter[str]:
    """Count placeholders once, however often they occur, and tags as often as they occur."""
    matches = _MARKUP.findall(text)
    return Counter({match: matches.count(match) if match[0] == "<" else 1 for match in matches})
