"""The registered endpoints as a file that reads back as the same; without any secret."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dashboard.endpoints.as_code.fields import as_file, telling
from dashboard.endpoints.as_code.yaml_nodes import is_text_unquoted
from dashboard.models import Endpoint
from dashboard.models.people import Teams

_HEAD = """\
# Endpoints of Toolgauge. `toolgauge plan FILE` shows what this file would change here, and
# `toolgauge apply FILE` changes it. A field that is left out has its default.
# API keys are not in this file. A stored key stays as it is; to set one, put it into a variable
# and name that: `api_key_env: MY_KEY`.
version: 1
"""
# Nobody reads these differently, whatever their idea of YAML.
_BARE = re.compile(r"[0-9]+[smhd]|[A-Za-z_/](?:[A-Za-z0-9_./@+-]|:(?=[A-Za-z0-9/]))*")
_TAKEN_FOR_SWITCHES = {"y", "n", "yes", "no", "on", "off", "null", "true", "false"}
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
# YAML takes a longer name only behind a question mark.
LONGEST_KEY = 1000


def export(teams: Teams) -> str:
    """The endpoints of those teams by name; the same rows give the same text, byte for byte."""
    kept = Endpoint.objects.kept().of_teams(teams).select_related("credential", "team")
    return "".join(_lines(kept.order_by("slug")))


def _lines(endpoints: Iterable[Endpoint]) -> Iterator[str]:
    yield _HEAD
    found = list(endpoints)
    yield "endpoints:\n" if found else "endpoints: {}\n"
    for endpoint in found:
        yield f"\n{key(endpoint.slug, 2)}:\n"
        if getattr(endpoint, "credential", None) is not None:
            yield "    # An API key is stored.\n"
        yield block(telling(as_file(endpoint)), indent=4)


def block(fields: Mapping[str, Any], *, indent: int) -> str:
    """Fields one a line, what lies inside indented further."""
    return "".join(f"{key(n, indent)}:{_after(v, indent)}" for n, v in fields.items())


def key(text: str, indent: int) -> str:
    pad, name = " " * indent, scalar(text)
    return f"{pad}{name}" if len(name) <= LONGEST_KEY else f"{pad}? {name}\n{pad}"


def scalar(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value)


def _after(value: Any, indent: int) -> str:
    """What follows a colon or a dash."""
    if isinstance(value, dict) and value:
        return f"\n{block(value, indent=indent + 2)}"
    if isinstance(value, list) and value:
        items = (f"{' ' * (indent + 2)}-{_after(item, indent + 2)}" for item in value)
        return "\n" + "".join(items)
    return f" {_flat(value)}\n"


def _flat(value: Any) -> str:
    if value == {} and isinstance(value, dict):
        return "{}"
    return "[]" if isinstance(value, list) else scalar(value)


def _text(text: str) -> str:
    if _BARE.fullmatch(text) and text.lower() not in _TAKEN_FOR_SWITCHES and is_text_unquoted(text):
        return text
    return f'"{"".join(_ESCAPES.get(char) or _escaped(char) for char in text)}"'


def _escaped(char: str) -> str:
    """Characters that show, as they are; others by their number, so that none is lost or folded."""
    code = ord(char)
    if char.isprintable() and code != 0xFEFF:
        return char
    return (
        f"\\x{code:02x}"
        if code < 0x100
        else f"\\u{code:04x}"
        if code < 0x10000
        else f"\\U{code:08x}"
    )
