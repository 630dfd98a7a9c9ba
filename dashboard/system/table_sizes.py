"""The sizes of the tables, read in two queries from the catalogue of Postgres."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from dashboard.core import partitions
from dashboard.core.partitions import Partition
from dashboard.core.sql import fetch_row, fetch_rows

_PARTITIONED = (*partitions.DAILY, *partitions.MONTHLY)


@dataclass(frozen=True, slots=True)
class TableSize:
    """A table, or one of its partitions."""

    table: str
    partition: Partition | None
    rows: int  # as Postgres estimates it
    size_bytes: int
    holds_rows: bool


@dataclass(frozen=True, slots=True)
class TableSizes:
    today: date  # by the database's clock, in UTC
    database_bytes: int
    sizes: tuple[TableSize, ...]


def read_table_sizes() -> TableSizes:
    row = fetch_row(_TODAY)
    assert row is not None
    today, database_bytes = row
    sizes = tuple(
        _table_size(*line) for line in fetch_rows(_TABLE_SIZES, {"parents": list(_PARTITIONED)})
    )
    return TableSizes(today, database_bytes, sizes)


def _table_size(parent: str | None, name: str, count: float, size: int, holds: bool) -> TableSize:
    partition = partitions.parse_partition_name(parent, name) if parent else None
    return TableSize(parent or name, partition, round(count), size, holds)


_TODAY = """
SELECT (statement_timestamp() AT TIME ZONE 'UTC')::date, pg_database_size(current_database())
"""

# reltuples is -1 before the first ANALYZE and outdated after large changes; the statistics are
# current but reset by a crash. Either can be too low, so the larger one counts.
_TABLE_SIZES = """
SELECT p.relname, c.relname, GREATEST(c.reltuples, s.n_live_tup, 0),
    pg_total_relation_size(c.oid), pg_relation_size(c.oid) > 0
FROM pg_class c
LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
LEFT JOIN pg_class p ON p.oid = i.inhparent AND p.relname = ANY(%(parents)s)
LEFT JOIN pg_stat_all_tables s ON s.relid = c.oid
WHERE c.relkind = 'r' AND starts_with(c.relname, 'dashboard_') AND pg_table_is_visible(c.oid)
ORDER BY c.relname
"""
