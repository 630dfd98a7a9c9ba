"""JSON of any depth and size as text that a page can bear."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from probes.strict_json import parse_json

MAX_BYTES = 1024 * 1024
DEPTH = 32
# In this order: to Python a boolean is an integer too.
_TYPES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (str, "string"),
    (Mapping, "object"),
    ((list, tuple), "array"),
)


def read(text: str) -> Any:
    """The value of a JSON text; None where it is none, too deep or too large."""
    parsed = parse_json(text, max_bytes=MAX_BYTES)
    return None if parsed.error is not None else parsed.value


def pretty(text: str) -> str:
    """A JSON text with a line for each value; any other text as it is."""
    parsed = parse_json(text, max_bytes=MAX_BYTES)
    return text if parsed.error is not None else dump(parsed.value)


def dump(value: Any) -> str:
    """A value with a line for each of its values; what is too deep is three dots."""
    return json.dumps(_bounded(value, DEPTH), indent=2, ensure_ascii=False)


def type_of(value: Any) -> str:
    """The JSON type of a value, in JSON's own word."""
    return next((name for kind, name in _TYPES if isinstance(value, kind)), "null")


def _bounded(value: Any, depth: int) -> Any:
    if isinstance(value, Mapping):
        if not depth:
            return "…"
        return {str(key): _bounded(item, depth - 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_bounded(item, depth - 1) for item in value] if depth else "…"
    return value
