"""JSON of any depth and size as bounded text for a page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from probes.strict_json import parse_json

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 32
# In this order: in Python a boolean is an integer too.
_TYPE_NAMES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (str, "string"),
    (Mapping, "object"),
    ((list, tuple), "array"),
)


def loads(text: str) -> Any:
    """The value of a JSON text; None if the text is not JSON, too deep or too large."""
    parsed = parse_json(text, max_bytes=MAX_BYTES)
    return None if parsed.error is not None else parsed.value


def reformat(text: str) -> str:
    """A JSON text with one line per value; any other text unchanged."""
    parsed = parse_json(text, max_bytes=MAX_BYTES)
    return text if parsed.error is not None else dumps(parsed.value)


def dumps(value: Any) -> str:
    """A value as JSON with one line per value; deeper levels become an ellipsis."""
    return json.dumps(_bounded(value, MAX_DEPTH), indent=2, ensure_ascii=False)


def type_name(value: Any) -> str:
    """The name of a value's JSON type."""
    return next((name for kind, name in _TYPE_NAMES if isinstance(value, kind)), "null")


def _bounded(value: Any, depth: int) -> Any:
    if isinstance(value, Mapping):
        if not depth:
            return "…"
        return {str(key): _bounded(item, depth - 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_bounded(item, depth - 1) for item in value] if depth else "…"
    return value
