"""Values that a text states without a property: options, quoted texts, numbers."""

from __future__ import annotations

import re

from probes.messages import JSON
from simulators.model.announced_value import find_announced_texts
from simulators.model.embedded_data import ValueGroup
from simulators.model.quotes import find_quoted_texts
from simulators.model.schema_values import Schema, alternatives, properties

_INTEGER = re.compile(r"(?<![\w.])[-+]?\d{1,18}(?![\w]|\.\d)")
# A path, a URL or a file name in a sentence.
_PATH = re.compile(r"(?<![\w/])(?:\w+:)?/[^\s\"'`<>()\[\]{}]*\w/?")


def guess_values(segment: str, schema: Schema, groups: list[ValueGroup]) -> list[ValueGroup]:
    """The groups completed with values that the text states without a property."""
    rules = properties(schema, schema)
    missing = [name for name in rules if not any(name in group for group in groups)]
    lists = {
        name: values for name in missing if (values := _find_options(segment, rules[name], schema))
    }
    texts = [name for name in missing if _is_text(rules[name], schema)]
    if len(texts) == 1 and (unnamed := _find_unnamed_texts(segment)):
        lists[texts[0]] = [*unnamed]
    numbers = [name for name in missing if _is_number(rules[name], schema)]
    integers = [int(number) for number in _INTEGER.findall(segment)]
    for place, name in enumerate(numbers):
        if len(integers) >= len(numbers):
            lists[name] = [*integers[place :: len(numbers)]]
    count = len(groups) or (len(lists[texts[0]]) if len(texts) == 1 and texts[0] in lists else 1)
    blank = groups or [{} for _ in range(count)]
    return [
        group | {name: values[min(i, len(values) - 1)] for name, values in lists.items()}
        for i, group in enumerate(blank)
        if group or lists
    ]


def _find_unnamed_texts(segment: str) -> list[str]:
    paths: list[str] = _PATH.findall(segment)
    return find_quoted_texts(segment) or paths or find_announced_texts(segment)


def _find_options(segment: str, rules: Schema, schema: Schema) -> list[JSON]:
    """The options of an enumeration that the text names, in order."""
    options = [option for plain in alternatives(rules, schema) for option in _options(plain)]
    matches: list[tuple[int, JSON]] = []
    for option in options:
        pattern = rf"(?<!\w){re.escape(str(option))}(?!\w)"
        matches += [(match.start(), option) for match in re.finditer(pattern, segment, re.I)]
    return [option for _, option in sorted(matches, key=lambda item: item[0])]


def _options(schema: Schema) -> list[JSON]:
    options = schema.get("enum")
    return [option for option in options if option is not None] if isinstance(options, list) else []


def _is_text(rules: Schema, schema: Schema) -> bool:
    plain = alternatives(rules, schema)
    return any(option.get("type") == "string" and not _options(option) for option in plain)


def _is_number(rules: Schema, schema: Schema) -> bool:
    return any(
        option.get("type") in ("integer", "number") for option in alternatives(rules, schema)
    )
