"""Exports the endpoints as a file without secrets. Applying it changes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dashboard.endpoints.as_code.fields import as_file, significant_fields
from dashboard.endpoints.as_code.yaml_nodes import is_plain_string
from dashboard.models import Endpoint
from dashboard.models.people import Teams

_HEAD = """\
# Endpoints of Toolgauge. `toolgauge plan FILE` shows what this file would change here, and
# `toolgauge apply FILE` changes it. A field that is left out has its default.
# API keys are not in this file. A stored key stays as it is; to set one, put it into a variable
# and name that: `api_key_env: MY_KEY`.
version: 1
"""
# Strings that every version of YAML reads as strings.
_BARE = re.compile(r"[0-9]+[smhd]|[A-Za-z_/](?:[A-Za-z0-9_./@+-]|:(?=[A-Za-z0-9/]))*")
_YAML_BOOLEANS = {"y", "n", "yes", "no", "on", "off", "null", "true", "false"}
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
# YAML requires a question mark before longer keys.
MAX_PLAIN_KEY = 1000


def export_endpoints(teams: Teams) -> str:
    """The endpoints of the teams, sorted by slug. The output is deterministic."""
    kept = Endpoint.objects.kept().of_teams(teams).select_related("credential", "team")
    return "".join(_lines(kept.order_by("slug")))


def _lines(endpoints: Iterable[Endpoint]) -> Iterator[str]:
    yield _HEAD
    listed = list(endpoints)
    yield "endpoints:\n" if listed else "endpoints: {}\n"
    for endpoint in listed:
        yield f"\n{format_key(endpoint.slug, 2)}:\n"
        if getattr(endpoint, "credential", None) is not None:
            yield "    # An API key is stored.\n"
        yield format_block(significant_fields(as_file(endpoint)), indent=4)


def format_block(fields: Mapping[str, Any], *, indent: int) -> str:
    """One field per line, nested values indented further."""
    return "".join(f"{format_key(n, indent)}:{_format_value(v, indent)}" for n, v in fields.items())


def format_key(text: str, indent: int) -> str:
    pad, name = " " * indent, format_scalar(text)
    return f"{pad}{name}" if len(name) <= MAX_PLAIN_KEY else f"{pad}? {name}\n{pad}"


def format_scalar(value: Any) -> str:
    if isinstance(value, str):
        return _format_text(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value)


def _format_value(value: Any, indent: int) -> str:
    """The text after a colon or dash."""
    if isinstance(value, dict) and value:
        return f"\n{format_block(value, indent=indent + 2)}"
    if isinstance(value, list) and value:
        items = (f"{' ' * (indent + 2)}-{_format_value(item, indent + 2)}" for item in value)
        return "\n" + "".join(items)
    return f" {_format_inline(value)}\n"


def _format_inline(value: Any) -> str:
    if value == {} and isinstance(value, dict):
        return "{}"
    return "[]" if isinstance(value, list) else format_scalar(value)


def _format_text(text: str) -> str:
    if _BARE.fullmatch(text) and text.lower() not in _YAML_BOOLEANS and is_plain_string(text):
        return text
    return f'"{"".join(_ESCAPES.get(char) or _escape_char(char) for char in text)}"'


def _escape_char(char: str) -> str:
    """Escape characters that are not printable, so that YAML keeps them."""
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
