"""The catalogue of Simplified Chinese: a file to edit, and the compiled one that pages read."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from gettext import GNUTranslations
from io import BytesIO

from babel.messages.catalog import Catalog
from babel.messages.catalog import Message as Entry
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from catalogue.message import Message
from catalogue.sources import ROOT

FOLDER = ROOT / "locale" / "zh_Hans" / "LC_MESSAGES"
EDITED = FOLDER / "django.po"
COMPILED = FOLDER / "django.mo"
_HEADER = "# Toolgauge in Simplified Chinese. The words to use are in docs/glossary-zh.md."
# No day of a change is kept here: version control knows it, and the files change with texts only.
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
    """The catalogue for these texts: what was translated stays, the rest is empty."""
    new = empty_catalogue()
    for message, files in messages.items():
        known = find_entry(old, message)
        new.add(
            _id(message),
            known.string if known and not known.fuzzy else None,
            locations=[(name, 0) for name in files],
            context=message.context or None,
            user_comments=known.user_comments if known else (),
        )
    return new


def find_entry(catalog: Catalog, message: Message) -> Entry | None:
    found = catalog.get(message.singular, message.context or None)
    return found if found is not None and found.id == _id(message) else None


def write_po_file(catalog: Catalog) -> bytes:
    """The file that translators edit."""
    file = BytesIO()
    write_po(file, catalog, width=0, include_lineno=False, ignore_obsolete=True)
    return file.getvalue()


def write_mo_file(catalog: Catalog) -> bytes:
    """The file that pages read."""
    file = BytesIO()
    write_mo(file, catalog)
    return file.getvalue()


def read_mo_file(file: bytes) -> dict[str, str]:
    """What a compiled file says, without the name of the program that wrote it."""
    said = GNUTranslations(BytesIO(file))
    texts: dict[str, str] = said._catalog  # type: ignore[attr-defined]  # there is no public way
    return {str(key): text for key, text in texts.items() if key}


def _id(message: Message) -> str | tuple[str, str]:
    return (message.singular, message.plural) if message.plural else message.singular
