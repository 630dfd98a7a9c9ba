"""What differs from run to run by design, taken out of a text before two are compared.

Values are drawn from the run's seed, so they are known: each is replaced by its name. Ids and times
that an endpoint makes up anew for every answer are known by the names of their fields.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from probes.messages import JSON
from probes.suite import PROBES, SUITE_VERSION
from probes.suite.base import rng_for

_LEAST = 3
_MADE_UP = re.compile(
    r'("(?:id|call_id|tool_call_id|tool_use_id|item_id|response_id|responseId|request_id|created|'
    r"created_at|completed_at|system_fingerprint|total_duration|load_duration|eval_duration|"
    r'prompt_eval_duration|obfuscation)"\s*:\s*)("(?:[^"\\]|\\.)*"|[0-9.]+)'
)
_CHOICES = re.compile(r'("enum"\s*:\s*\[[^\]]*\])')


def values(probe: str, trial: int, *, seed: int, suite_version: str) -> dict[str, str]:
    """What was drawn for a trial: the text of each value and the name that stands for it.

    Nothing where the suite has changed since, for then another would be drawn.
    """
    if suite_version != SUITE_VERSION or probe not in PROBES:
        return {}
    drawn = PROBES[probe].draw(rng_for(seed, probe, trial)).values
    return {text: f"‹{name}›" for name, text in _texts(drawn, "") if len(text) >= _LEAST}


def without(text: str, drawn: Mapping[str, str]) -> str:
    """The text with names in place of drawn values, and of ids and times that are made up."""
    text = _MADE_UP.sub(lambda found: f'{found[1]}"‹{_field(found[1])}›"', text)
    if not drawn:
        return text
    # The longest first: a value may stand inside another.
    ordered = sorted(drawn, key=len, reverse=True)
    any_of = re.compile("|".join(re.escape(value) for value in ordered))
    # The choices of a schema are the same in every run; what was drawn is one of them.
    told = _CHOICES.split(text)
    told[::2] = [any_of.sub(lambda found: drawn[found[0]], part) for part in told[::2]]
    return "".join(told)


def _field(written: str) -> str:
    return written.split('"')[1]


def _texts(value: JSON, name: str) -> Iterator[tuple[str, str]]:
    match value:
        case Mapping():
            for key, item in value.items():
                yield from _texts(item, f"{name}.{key}" if name else str(key))
        case list() | tuple():
            for index, item in enumerate(value):
                yield from _texts(item, f"{name}[{index}]")
        case str():
            # As it is, in JSON, and in JSON inside JSON.
            once = json.dumps(value, ensure_ascii=False)[1:-1]
            for text in dict.fromkeys((value, once, json.dumps(once, ensure_ascii=False)[1:-1])):
                yield name, text
            yield name, json.dumps(value)[1:-1]
        case bool() | None:
            return
        case _:
            yield name, str(value)
