"""Writing observations: each batch whole, once, straight into the partition of its day."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from psycopg.errors import CheckViolation

from dashboard.models.observation import COLUMNS, EARLIEST, LATEST, Observation

PROBE, LIVE = 0, 1  # the lanes


# Binary COPY converts nothing: these must be the types of the columns.
_TYPES = (
    *("timestamptz", "int8", "int8", "int4", "int2", "int4", "timestamptz", "int8", "int8"),
    *("int4", "int4", "int4", "int4", "int4", "int2", "int2", "uuid"),
)
# Nor does it complain: of a number that is too large, it would store the last bytes.
_NARROW = {"int2": "h", "int4": "i"}


@transaction.atomic
def store(rows: Sequence[Observation], *, batch: UUID) -> bool:
    """Store a batch; False where it was stored before, and then nothing is written.

    Raises ValueError for a value that no column can hold.
    """
    _check(rows)
    with connection.cursor() as cursor:
        cursor.execute(_BATCH, [batch, len(rows)])
        begun = cursor.fetchone()
    if begun is None:
        return False
    batch_id, at = begun
    try:
        with transaction.atomic():
            _copy("dashboard_observation", rows, at, batch_id)
    except CheckViolation:
        # Nobody made today's partition. partitions.ensure brings the rows home later.
        _copy("dashboard_observation_overflow", rows, at, batch_id)
    return True


def _check(rows: Sequence[Observation]) -> None:
    # In pieces that stay in the processor's cache.
    for begin in range(0, len(rows), 1000):
        columns = zip(*rows[begin : begin + 1000], strict=True)
        for name, kind, column in zip(Observation._fields, _TYPES[2:], columns, strict=True):
            if not _fits(kind, column):
                raise ValueError(f"{name} has a value that its column cannot hold.")


def _fits(kind: str, column: tuple[Any, ...]) -> bool:
    if kind == "timestamptz":
        return bool(min(column) >= EARLIEST and max(column) < LATEST)
    try:
        if kind in _NARROW:
            _look_at(_NARROW[kind], column)
    except OverflowError:
        return False
    return True


def _look_at(width: str, column: tuple[Any, ...]) -> None:
    """The fastest way through many numbers; most columns have a number in every row."""
    try:
        array(width, column)
    except TypeError:
        array(width, [value for value in column if value is not None])


def _copy(table: str, rows: Sequence[Observation], at: datetime, batch_id: int) -> None:
    statement = f"COPY {table} ({', '.join(COLUMNS)}) FROM STDIN (FORMAT binary)"
    # On the wire a time is its microseconds since 2000, and a number is quicker to write.
    head = ((at - datetime(2000, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1), batch_id)
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.set_types(("int8", *_TYPES[1:]))
        for row in rows:
            copy.write_row(head + row)


# Somebody else with the same batch waits here until we are through, and then finds it stored.
_BATCH = """
INSERT INTO dashboard_observationbatch (batch, at, rows)
VALUES (%s, statement_timestamp(), %s) ON CONFLICT (batch) DO NOTHING RETURNING id, at
"""
