"""Raw SQL statements on the default connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db import connection


def set_idle_timeout() -> None:
    """Let the database end this transaction when its client falls silent.

    A worker that is cut off would keep its locks until the network notices, and no other worker
    could continue its run.
    """
    span = f"{settings.RUN_LEASE.total_seconds() * 1000:.0f}"
    execute("SELECT set_config('idle_in_transaction_session_timeout', %(ms)s, true)", {"ms": span})


def execute(statement: str, values: Mapping[str, Any] | None = None) -> int:
    """Run a statement and return how many rows it touched."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return int(cursor.rowcount)


def fetch_rows(statement: str, values: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())


def fetch_row(statement: str, values: Mapping[str, Any] | None = None) -> tuple[Any, ...] | None:
    """The first row, or None."""
    rows = fetch_rows(statement, values)
    return rows[0] if rows else None


def release_connection() -> None:
    """Return the connection to the pool before slow work without queries.

    The next query takes one again. Inside a transaction the connection stays.
    """
    if not connection.in_atomic_block:
        connection.close()
