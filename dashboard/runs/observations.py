"""Stores observations in batches, each atomically, once, and in the partition of its day."""

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


# Binary COPY does not convert: these must be the types of the columns.
_TYPES = (
    *("timestamptz", "int8", "int8", "int4", "int2", "int4", "timestamptz", "int8", "int8"),
    *("int4", "int4", "int4", "int4", "int4", "int2", "int2", "uuid"),
)
# Nor does it check ranges: it would store the low bytes of a number that is too large.
_ARRAY_CODES = {"int2": "h", "int4": "i"}


@transaction.atomic
def store_batch(rows: Sequence[Observation], *, batch: UUID, digest: bytes | None = None) -> bool:
    """Store a batch; False if one with its id was stored before.

    Raises ValueError for a value that its column cannot hold.
    """
    _check_values(rows)
    with connection.cursor() as cursor:
        cursor.execute(_INSERT_BATCH, [batch, len(rows), digest])
        inserted = cursor.fetchone()
    if inserted is None:
        return False
    batch_id, at = inserted
    try:
        with transaction.atomic():
            _copy("dashboard_observation", rows, at, batch_id)
    except CheckViolation:
        # Today's partition is missing. partitions.ensure_partitions moves the rows later.
        _copy("dashboard_observation_overflow", rows, at, batch_id)
    return True


def _check_values(rows: Sequence[Observation]) -> None:
    # In slices that fit into the processor's cache.
    for begin in range(0, len(rows), 1000):
        columns = zip(*rows[begin : begin + 1000], strict=True)
        for name, kind, column in zip(Observation._fields, _TYPES[2:], columns, strict=True):
            if not _fits(kind, column):
                raise ValueError(f"{name} has a value that its column cannot hold.")


def _fits(kind: str, column: tuple[Any, ...]) -> bool:
    if kind == "timestamptz":
        return bool(min(column) >= EARLIEST and max(column) < LATEST)
    try:
        if kind in _ARRAY_CODES:
            _check_range(_ARRAY_CODES[kind], column)
    except OverflowError:
        return False
    return True


def _check_range(type_code: str, column: tuple[Any, ...]) -> None:
    """Raise OverflowError if a number does not fit. Building an array is the fastest check."""
    try:
        array(type_code, column)
    except TypeError:
        array(type_code, [value for value in column if value is not None])


def _copy(table: str, rows: Sequence[Observation], at: datetime, batch_id: int) -> None:
    statement = f"COPY {table} ({', '.join(COLUMNS)}) FROM STDIN (FORMAT binary)"
    # In binary COPY a timestamp is its microseconds since 2000, and an integer writes faster.
    head = ((at - datetime(2000, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1), batch_id)
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.set_types(("int8", *_TYPES[1:]))
        for row in rows:
            copy.write_row(head + row)


# A concurrent writer of the same batch waits here until this transaction ends.
_INSERT_BATCH = """
INSERT INTO dashboard_observationbatch (batch, at, rows, digest)
VALUES (%s, statement_timestamp(), %s, %s) ON CONFLICT (batch) DO NOTHING RETURNING id, at
"""
