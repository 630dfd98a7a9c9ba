from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from probes.messages import JSON

MAX_DEPTH = 64
MAX_DUPLICATES = 10

# Each match consumes one or two characters, so the scan is always linear.
_MARK = re.compile(r'\\.|["\[\]{}]', re.DOTALL)


@dataclass(frozen=True, slots=True)
class ParsedJson:
    """A parsed JSON text, or the sentence that says why it is invalid."""

    value: JSON = None
    error: str | None = None
    duplicate_keys: tuple[str, ...] = ()
    too_large: bool = False


def parse_json(text: str, *, max_bytes: int, max_depth: int = MAX_DEPTH) -> ParsedJson:
    """Parse strict JSON within limits. Never raises, whatever the text is."""
    # A character takes at least one byte, so a long text need not be encoded to be refused.
    if len(text) > max_bytes or len(text.encode("utf-8", "surrogatepass")) > max_bytes:
        return ParsedJson(error=f"The JSON text is larger than {max_bytes} bytes.", too_large=True)
    if _deeper_than(text, max_depth):
        return ParsedJson(
            error=f"The JSON text is nested deeper than {max_depth} levels.", too_large=True
        )
    duplicates: list[str] = []

    def pairs(items: list[tuple[str, JSON]]) -> Mapping[str, JSON]:
        members = dict(items)
        if len(members) < len(items):
            counts = Counter(key for key, _ in items)
            duplicates.extend(key for key, count in counts.items() if count > 1)
        return members

    try:
        value = json.loads(
            text, object_pairs_hook=pairs, parse_constant=_refuse, parse_float=_finite
        )
    except ValueError as exc:
        return ParsedJson(error=_sentence(exc))
    return ParsedJson(value, duplicate_keys=tuple(dict.fromkeys(duplicates))[:MAX_DUPLICATES])


def is_same_json(one: JSON, other: JSON) -> bool:
    """Compare as JSON: true is not 1, and the int and float of 1e23 are equal."""
    if isinstance(one, bool) != isinstance(other, bool):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(
            is_same_json(one[name], other[name]) for name in one
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same_json, one, other))
    if isinstance(one, float) or isinstance(other, float):
        return bool(_as_float(one) == _as_float(other))
    return bool(one == other)


def _deeper_than(text: str, limit: int) -> bool:
    # Most texts are shallow, and counting is much faster than walking.
    if text.count("[") + text.count("{") <= limit:
        return False
    depth = 0
    in_string = False
    for match in _MARK.finditer(text):
        mark = match.group()
        if mark == '"':
            in_string = not in_string
        elif in_string or len(mark) > 1:
            continue
        elif mark in "[{":
            depth += 1
            if depth > limit:
                return True
        else:
            depth -= 1
    return False


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:40]} is out of range")
    return number


def _sentence(exc: ValueError) -> str:
    if isinstance(exc, json.JSONDecodeError):
        return f"Not valid JSON: {exc.msg} at character {exc.pos}."
    if "integer string conversion" in str(exc):
        return "Not valid JSON: an integer has too many digits."
    return f"Not valid JSON: {exc}."


def _as_float(value: JSON) -> JSON:
    try:
        return float(value) if isinstance(value, int) else value
    except OverflowError:
        return value
