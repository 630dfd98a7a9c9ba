"""The catalogue of Simplified Chinese: the .po file to edit, and the compiled .mo file."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from gettext import GNUTranslations
from io import BytesIO

from babel.messages.catalog import Catalog
from babel.messages.catalog import Message as Entry
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from catalogue.source_text import Message
from catalogue.sources import ROOT

FOLDER = ROOT / "locale" / "zh_Hans" / "LC_MESSAGES"
EDITED = FOLDER / "django.po"
COMPILED = FOLDER / "django.mo"
_HEADER = "# Toolgauge in Simplified Chinese. The words to use are in docs/glossary-zh.md."
# A constant date, so that the files change only when a text does.
_DAY = datetime(2026, 1, 1, tzinfo=UTC)


def empty_catalogue() -> Catalog:
    return Catalog(
        locale="zh_Hans",
        project="Toolgauge",
        version="1",
        header_comment=_HEADER,
        msgid_bugs_address="the issues of the project",
        last_translator="Toolgauge",
        language_team="zh_Hans",
        creation_date=_DAY,
        revision_date=_DAY,
        fuzzy=False,
    )


def read_catalogue() -> Catalog:
    if not EDITED.exists():
        return empty_catalogue()
    with EDITED.open("rb") as file:
        return read_po(file, locale="zh_Hans")


def merge_messages(old: Catalog, messages: Mapping[Message, tuple[str, ...]]) -> Catalog:
    """The catalogue for these messages: existing translations stay, the others are empty."""
    new = empty_catalogue()
    for message, files in messages.items():
        entry = find_entry(old, message)
        new.add(
            _message_id(message),
            entry.string if entry and not entry.fuzzy else None,
            locations=[(name, 0) for name in files],
            context=message.context or None,
            user_comments=entry.user_comments if entry else (),
        )
    return new


def find_entry(catalog: Catalog, message: Message) -> Entry | None:
    entry = catalog.get(message.singular, message.context or None)
    return entry if entry is not None and entry.id == _message_id(message) else None


def write_po_file(catalog: Catalog) -> bytes:
    file = BytesIO()
    write_po(file, catalog, width=0, include_lineno=False, ignore_obsolete=True)
    return file.getvalue()


def write_mo_file(catalog: Catalog) -> bytes:
    file = BytesIO()
    write_mo(file, catalog)
    return file.getvalue()


def read_mo_file(file: bytes) -> dict[str, str]:
    """The texts of a compiled file, without its header."""
    translations = GNUTranslations(BytesIO(file))
    texts: dict[str, str] = translations._catalog  # type: ignore[attr-defined]  # there is no public way
    return {str(key): text for key, text in texts.items() if key}


def _message_id(message: Message) -> str | tuple[str, str]:
    return (message.singular, message.plural) if message.plural else message.singular
