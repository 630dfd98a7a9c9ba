"""What is wrong with a translation, as far as a machine can tell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from babel.messages.catalog import Catalog

from catalogue.chinese import find_entry
from catalogue.message import Message

# {name}, %(name)s, %%, %{y} of charts, <b> and </b>
_KEPT = re.compile(r"%\{[^}]*\}|\{[^{}]*\}|%\([\w.]+\)[sd]|%%|</?[a-z][^>]*>")
_HAN = "[\u4e00-\u9fff]"
_GLUED = re.compile(f"{_HAN}[A-Za-z0-9]|[A-Za-z0-9]{_HAN}")
_NARROW = re.compile(f"{_HAN}[,;:!?]|{_HAN}\\.(?:$|\\s)")


def find_faults(catalog: Catalog, messages: Iterable[Message]) -> list[str]:
    """One line for each text that is missing, left over, or does not fit its translation."""
    wanted = set(messages)
    said = [line for message in sorted(wanted) for line in _message_faults(catalog, message)]
    kept = {(each.singular, each.context) for each in wanted}
    for old in catalog:
        singular = old.id[0] if isinstance(old.id, tuple | list) else old.id
        if singular and (singular, old.context or "") not in kept:
            said.append(f"no longer in the sources: {singular!r}")
    return said


def _message_faults(catalog: Catalog, message: Message) -> Iterator[str]:
    found = find_entry(catalog, message)
    if found is None:
        yield f"not in the catalogue: {message.singular!r}"
    elif found.fuzzy:
        yield f"fuzzy: {message.singular!r}"
    else:
        told = found.string if isinstance(found.string, tuple | list) else (found.string,)
        for text in told:
            yield from _text_faults(message, text or "")


def _text_faults(message: Message, text: str) -> Iterator[str]:
    source = message.plural or message.singular
    if not text:
        yield f"not translated: {source!r}"
        return
    if _kept(text) != _kept(source):
        yield f"other placeholders or tags: {source!r} -> {text!r}"
    if text != text.strip() and source == source.strip():
        yield f"spaces at an end: {text!r}"
    if message.context.startswith("format of"):
        return
    plain = _KEPT.sub("\x00", text)
    if _GLUED.search(plain):
        yield f"no space between Chinese and Latin: {text!r}"
    if _NARROW.search(plain):
        yield f"a narrow mark after Chinese: {text!r}"


def _kept(text: str) -> Counter[str]:
    """Placeholders once, however often they are named; tags as often as they stand there."""
    found = _KEPT.findall(text)
    return Counter({each: found.count(each) if each[0] == "<" else 1 for each in found})
