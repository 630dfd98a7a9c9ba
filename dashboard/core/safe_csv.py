"""Tables for spreadsheets, in which nothing is a formula, whoever wrote it."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO

# What a spreadsheet takes for the beginning of a formula.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")


def as_csv(
    records: Iterable[Mapping[str, object]], names: Sequence[str], *, with_names: bool = True
) -> str:
    """The records as lines, with a line of names on top."""
    text = StringIO()
    writer = csv.DictWriter(text, fieldnames=names)
    if with_names:
        writer.writeheader()
    writer.writerows(_neutral(record) for record in records)
    return text.getvalue()


def _neutral(record: Mapping[str, object]) -> dict[str, object]:
    return {
        name: f"'{value}" if isinstance(value, str) and value.startswith(_FORMULAS) else value
        for name, value in record.items()
    }
