"""What the tables take up, read in two queries from the catalogue, whatever is in them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from dashboard.core import partitions
from dashboard.core.partitions import Partition
from dashboard.core.sql import fetch_row, fetch_rows

_PARTITIONED = (*partitions.DAILY, *partitions.MONTHLY)


@dataclass(frozen=True, slots=True)
class TableSize:
    """One table, or one partition of one."""

    table: str
    partition: Partition | None
    rows: int  # as Postgres estimates it
    size_bytes: int
    holds_rows: bool


@dataclass(frozen=True, slots=True)
class TableSizes:
    today: date  # by the database's clock, in UTC
    database_bytes: int
    pieces: tuple[TableSize, ...]


def read_table_sizes() -> TableSizes:
    row = fetch_row(_TODAY)
    assert row is not None
    today, size = row
    pieces = tuple(
        _table_size(*line) for line in fetch_rows(_PIECES, {"parents": list(_PARTITIONED)})
    )
    return TableSizes(today, size, pieces)


def _table_size(parent: str | None, name: str, count: float, size: int, holds: bool) -> TableSize:
    partition = partitions.parse_partition_name(parent, name) if parent else None
    return TableSize(parent or name, partition, round(count), size, holds)


_TODAY = """
SELECT (statement_timestamp() AT TIME ZONE 'UTC')::date, pg_database_size(current_database())
"""

# reltuples is -1 before the first ANALYZE, and old right after many rows came or went; the
# statistics count along but begin anew after a crash. Each is wrong at times, and only too low.
_PIECES = """
SELECT p.relname, c.relname, GREATEST(c.reltuples, s.n_live_tup, 0),
    pg_total_relation_size(c.oid), pg_relation_size(c.oid) > 0
FROM pg_class c
LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
LEFT JOIN pg_class p ON p.oid = i.inhparent AND p.relname = ANY(%(parents)s)
LEFT JOIN pg_stat_all_tables s ON s.relid = c.oid
WHERE c.relkind = 'r' AND starts_with(c.relname, 'dashboard_') AND pg_table_is_visible(c.oid)
ORDER BY c.relname
"""
