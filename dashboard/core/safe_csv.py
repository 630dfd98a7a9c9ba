"""CSV for spreadsheets, in which no value is a formula."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO

# A spreadsheet reads a value that starts so as a formula.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")


def render_csv(
    records: Iterable[Mapping[str, object]], names: Sequence[str], *, with_names: bool = True
) -> str:
    text = StringIO()
    writer = csv.DictWriter(text, fieldnames=names)
    if with_names:
        writer.writeheader()
    writer.writerows(_escape_formulas(record) for record in records)
    return text.getvalue()


def records_as_csv(records: Sequence[Mapping[str, object]]) -> str:
    """CSV of records that all have the same keys; empty without records."""
    return render_csv(records, list(records[0])) if records else ""


def _escape_formulas(record: Mapping[str, object]) -> dict[str, object]:
    return {
        name: f"'{value}" if isinstance(value, str) and value.startswith(_FORMULAS) else value
        for name, value in record.items()
    }
