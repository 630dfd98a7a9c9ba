"""A made-up language that wraps every text in ⟦brackets⟧: what has none was never translated."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import django
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from catalogue.message import Message
from catalogue.sources import collect_messages

# Django must know the name of the language; nobody reads these pages in Esperanto.
CODE = "eo"
_DJANGO = Path(django.__file__).parent
# What Django says by itself: errors of forms, sizes of files.
_PLACES = re.compile(r"(%\(\w+\)[sdr]|\{[\w!:,.%]*\}|<[^>]*>)")
_OF_DJANGO = ("conf", "contrib/auth", "contrib/humanize")


def write(folder: Path) -> None:
    """Put the catalogue of the language where Django finds it."""
    catalog = Catalog(locale="en", fuzzy=False)
    for each in [*_djangos(), *collect_messages()]:
        ids, context = (each.singular, each.plural), each.context or None
        if each.plural:
            catalog.add(ids, tuple(map(_wrapped, ids)), context=context)
        else:
            catalog.add(each.singular, _wrapped(each.singular), context=context)
    place = folder / CODE / "LC_MESSAGES"
    place.mkdir(parents=True)
    with (place / "django.mo").open("wb") as file:
        write_mo(file, catalog)


def _wrapped(text: str) -> str:
    """Each piece in brackets: what is put into its places has to bring its own."""
    pieces = _PLACES.split(text)
    return "".join(
        piece if number % 2 else _bracketed(piece) for number, piece in enumerate(pieces)
    )


def _bracketed(piece: str) -> str:
    # gettext wants a line break at an end of both or of none.
    inner = piece.strip()
    return piece.replace(inner, f"⟦{inner}⟧") if inner else piece


def _djangos() -> Iterator[Message]:
    for part in _OF_DJANGO:
        with (_DJANGO / part / "locale/en/LC_MESSAGES/django.po").open("rb") as file:
            for entry in read_po(file):
                ids = (entry.id, "") if isinstance(entry.id, str) else entry.id
                if ids[0]:
                    yield Message(ids[0], ids[1], entry.context or "")
