"""Replaces what differs between runs by design, before two texts are compared.

Values drawn from the run's seed are known, so each is replaced by its name. Ids and times that an
endpoint generates for every reply are recognised by the names of their fields.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from probes.messages import JSON
from probes.suite import PROBES, SUITE_VERSION
from probes.suite.base import rng_for

_MIN_LENGTH = 3
_GENERATED_FIELD = re.compile(
    r'("(?:id|call_id|tool_call_id|tool_use_id|item_id|response_id|responseId|request_id|created|'
    r"created_at|completed_at|system_fingerprint|total_duration|load_duration|eval_duration|"
    r'prompt_eval_duration|obfuscation)"\s*:\s*)("(?:[^"\\]|\\.)*"|[0-9.]+)'
)
_ENUM = re.compile(r'("enum"\s*:\s*\[[^\]]*\])')


def read_drawn_values(probe: str, trial: int, *, seed: int, suite_version: str) -> dict[str, str]:
    """The values drawn for a trial, each with the name that replaces it.

    Empty for another version of the suite, which would draw other values.
    """
    if suite_version != SUITE_VERSION or probe not in PROBES:
        return {}
    drawn = PROBES[probe].draw(rng_for(seed, probe, trial)).values
    return {
        text: f"‹{name}›" for name, text in _value_spellings(drawn, "") if len(text) >= _MIN_LENGTH
    }


def normalise_text(text: str, names: Mapping[str, str]) -> str:
    """The text with drawn values and generated ids and times replaced by their names."""
    text = _GENERATED_FIELD.sub(lambda match: f'{match[1]}"‹{_field_name(match[1])}›"', text)
    if not names:
        return text
    # The longest first: a value may be part of another.
    ordered = sorted(names, key=len, reverse=True)
    pattern = re.compile("|".join(re.escape(value) for value in ordered))
    # The choices of a schema are the same in every run; the drawn value is one of them.
    parts = _ENUM.split(text)
    parts[::2] = [pattern.sub(lambda match: names[match[0]], part) for part in parts[::2]]
    return "".join(parts)


def _field_name(prefix: str) -> str:
    return prefix.split('"')[1]


def _value_spellings(value: JSON, name: str) -> Iterator[tuple[str, str]]:
    match value:
        case Mapping():
            for key, item in value.items():
                yield from _value_spellings(item, f"{name}.{key}" if name else str(key))
        case list() | tuple():
            for index, item in enumerate(value):
                yield from _value_spellings(item, f"{name}[{index}]")
        case str():
            # Plain, in JSON, and in JSON inside JSON.
            once = json.dumps(value, ensure_ascii=False)[1:-1]
            for text in dict.fromkeys((value, once, json.dumps(once, ensure_ascii=False)[1:-1])):
                yield name, text
            yield name, json.dumps(value)[1:-1]
        case bool() | None:
            return
        case _:
            yield name, str(value)
