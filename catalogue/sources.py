"""All translatable texts of the project, with their files."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from django.utils.translation.template import templatize

from catalogue.gettext_calls import NotALiteral, find_messages
from catalogue.source_text import Message
from probes.suite import PROBES

ROOT = Path(__file__).resolve().parent.parent
_SOURCES = (
    "dashboard/middleware.py",
    "dashboard/**/*.py",
    "health/**/*.py",
    "probes/dialects/__init__.py",
    "probes/egress_rules.py",
    "probes/target.py",
)
# Django turns a template into calls of gettext among blanked-out text.
_CALL = re.compile(
    r"""\b(?:_|n?p?gettext)\((?:u?"(?:[^"\\]|\\.)*"|u?'(?:[^'\\]|\\.)*'|[\s,]|count)+\)"""
)


@cache
def collect_messages() -> dict[Message, tuple[str, ...]]:
    """Each message with its files, in an order that does not depend on line numbers."""
    files_by_message: dict[Message, set[str]] = {}
    for path, message in _messages_by_file():
        files_by_message.setdefault(message, set()).add(path)
    return {
        message: tuple(sorted(files))
        for message, files in sorted(
            files_by_message.items(), key=lambda item: (min(item[1]), item[0])
        )
    }


def template_messages(source: str) -> Iterator[Message]:
    for call in _CALL.findall(templatize(source)):
        yield from find_messages(ast.parse(call))


def python_messages(source: str) -> Iterator[Message]:
    return find_messages(ast.parse(source))


def _messages_by_file() -> Iterator[tuple[str, Message]]:
    # The protocol library does not translate; pages translate its questions.
    yield from (("probes/suite", Message(probe.question)) for probe in PROBES.values())
    pages = sorted(ROOT.glob("templates/**/*.html"))
    modules = sorted(path for name in _SOURCES for path in ROOT.glob(name))
    for path in [*pages, *modules]:
        find = template_messages if path.suffix == ".html" else python_messages
        name = path.relative_to(ROOT).as_posix()
        try:
            yield from ((name, message) for message in find(path.read_text(encoding="utf-8")))
        except NotALiteral as exc:
            raise NotALiteral(f"{name}, {exc}") from exc
