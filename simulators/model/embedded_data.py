"""Values that a text contains as data: JSON objects, and the rows of a table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from probes.messages import JSON
from simulators.model.schema_values import DECODER, Schema, convert_value, strip_quotes

ValueGroup = dict[str, JSON]


def read_json_objects(text: str, names: Mapping[str, Schema]) -> Iterator[ValueGroup]:
    """JSON objects in the text whose keys are properties, alone or as the arguments of a call."""
    position = 0
    failures = 0
    while failures < 50 and (begin := text.find("{", position)) >= 0:
        try:
            value, position = DECODER.raw_decode(text, begin)
        except (ValueError, RecursionError):
            position, failures = begin + 1, failures + 1
            continue
        for key in ("arguments", "input", "args", "parameters"):
            inner = value.get(key)
            if isinstance(inner, dict) and key not in names:
                value = inner
        # An object after a property's name is that property's value, not a call.
        preceding = re.search(
            r"([\w.]+)[`\"'*]*\s*(?::|=|to|is)?\s*\Z", text[max(0, begin - 80) : begin]
        )
        if preceding and preceding.group(1) in names:
            continue
        if value and set(value) <= set(names):
            yield value


def read_table_rows(text: str, names: Mapping[str, Schema], schema: Schema) -> Iterator[ValueGroup]:
    """The rows of a table whose header names properties."""
    header: list[str] | None = None
    for line in text.splitlines():
        if not line.strip().startswith("|"):
            header = None
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if header is None:
            columns = [cell.strip("`*\"' ").lower() for cell in cells]
            matching = [cell for cell in columns if cell in names]
            header = columns if len(matching) > 1 or (matching and len(cells) == 1) else None
        elif not all(set(cell) <= set("-: ") for cell in cells):
            row = dict(zip(header, cells, strict=False))
            yield {
                name: convert_value(strip_quotes(cell), names[name], schema)
                for name, cell in row.items()
                if name in names
            }
