"""A pseudo-language that puts every text in ⟦brackets⟧: text without them is not translated."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import django
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from catalogue.source_text import Message
from catalogue.sources import collect_messages

# A language that Django knows, and that the product does not offer: Esperanto.
CODE = "eo"
_DJANGO = Path(django.__file__).parent
# Texts of Django itself: errors of forms, sizes of files.
_PLACEHOLDERS = re.compile(r"(%\(\w+\)[sdr]|\{[\w!:,.%]*\}|<[^>]*>)")
_DJANGO_PARTS = ("conf", "contrib/auth", "contrib/humanize")


def write_catalogue(folder: Path) -> None:
    """Write the catalogue of the language where Django finds it."""
    catalog = Catalog(locale="en", fuzzy=False)
    for message in [*_django_messages(), *collect_messages()]:
        ids, context = (message.singular, message.plural), message.context or None
        if message.plural:
            catalog.add(ids, tuple(map(_wrap_text, ids)), context=context)
        else:
            catalog.add(message.singular, _wrap_text(message.singular), context=context)
    target = folder / CODE / "LC_MESSAGES"
    target.mkdir(parents=True)
    with (target / "django.mo").open("wb") as file:
        write_mo(file, catalog)


def _wrap_text(text: str) -> str:
    """Bracket each piece between placeholders: inserted values must have their own brackets."""
    pieces = _PLACEHOLDERS.split(text)
    return "".join(piece if number % 2 else _bracket(piece) for number, piece in enumerate(pieces))


def _bracket(piece: str) -> str:
    # gettext requires the same line breaks at the ends of both texts.
    inner = piece.strip()
    return piece.replace(inner, f"⟦{inner}⟧") if inner else piece


def _django_messages() -> Iterator[Message]:
    for part in _DJANGO_PARTS:
        with (_DJANGO / part / "locale/en/LC_MESSAGES/django.po").open("rb") as file:
            for entry in read_po(file):
                ids = (entry.id, "") if isinstance(entry.id, str) else entry.id
                if ids[0]:
                    yield Message(ids[0], ids[1], entry.context or "")
