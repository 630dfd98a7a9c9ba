"""Running a statement by itself: what the run machine's services are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db import connection


def limit_idling() -> None:
    """Let the database end this transaction when its client falls silent.

    A worker that is cut off in the middle would keep its locks for as long as the network takes
    to notice, and nobody else could go on with its run.
    """
    span = f"{settings.RUN_LEASE.total_seconds() * 1000:.0f}"
    execute("SELECT set_config('idle_in_transaction_session_timeout', %(ms)s, true)", {"ms": span})


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


def release() -> None:
    """Give the connection back before something slow that needs none; the next query takes one.

    A pooled connection that is held meanwhile is missing elsewhere. Inside a transaction it stays.
    """
    if not connection.in_atomic_block:
        connection.close()
