"""Running a statement by itself: what the run machine's services are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import connection


def execute(statement: str, values: Mapping[str, Any] | None = None) -> int:
    """Run it and return how many rows it touched."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return int(cursor.rowcount)


def rows(statement: str, values: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())


def row(statement: str, values: Mapping[str, Any] | None = None) -> tuple[Any, ...] | None:
    """The first row, or None where there is none."""
    found = rows(statement, values)
    return found[0] if found else None
