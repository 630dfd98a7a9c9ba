"""Rolls up observations into five-minute, hour and day buckets, each batch exactly once."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import accumulate
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from psycopg.errors import CheckViolation

from dashboard.core import partitions
from dashboard.core.sql import execute, fetch_row, fetch_rows, set_idle_timeout
from health.observation_bits import PLACES

# A Monday at midnight, so that buckets of any width up to a week start at natural boundaries.
ORIGIN = datetime(2000, 1, 3, tzinfo=UTC)
# Limits of one transaction, which always takes at least one batch.
MAX_BATCHES, MAX_ROWS = 1000, 500_000
# In the worst case each try finds partitions missing for other months.
MAX_TRIES = 5
_CONSTANTS: dict[str, Any] = {"places": list(PLACES.values()), "origin": ORIGIN}


@dataclass(frozen=True, slots=True)
class RollupMismatch:
    """A bucket whose rollup differs from the sum of its raw rows."""

    level: str
    profile_id: int
    metric: int
    lane: int
    bucket: datetime
    counted: tuple[int, int]  # trials and failures of the raw rows
    stored: tuple[int, int]


class _PartitionMissing(Exception):
    def __init__(self, months: list[date]) -> None:
        super().__init__(f"no partitions for {months}")
        self.months = months


def roll_up(limit: int = MAX_BATCHES) -> int:
    """Roll up some pending batches and return their number; 0 when none is pending.

    Safe for concurrent callers: each claims its own batches. A batch and its counts are committed
    together, so a crash undoes both.
    """
    for _ in range(MAX_TRIES):
        try:
            return _roll_up(limit)
        except _PartitionMissing as exc:
            # Not in the same transaction: two callers with rows in these tables would deadlock.
            partitions.ensure_months(exc.months, parents=partitions.ROLLUPS)
    return 0


def read_lag() -> timedelta | None:
    """The age of the oldest batch that is not rolled up; None if all are."""
    oldest = fetch_row(_LAG)
    return oldest[0] if oldest else None


def recount_day(day: date) -> list[RollupMismatch]:
    """The buckets of a day (UTC) that differ from its raw rows; ignores pending batches.

    Raises ValueError for a day whose raw rows or five-minute buckets have expired.
    """
    kept_days = min(settings.KEEP_RAW_DAYS, settings.KEEP_5M_DAYS)
    if day <= partitions.database_today() - timedelta(days=kept_days):
        raise ValueError(f"The raw rows of {day} are not kept any more.")
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    span = {"start": start, "end": start + timedelta(days=1), "at": start - timedelta(days=1)}
    rows = fetch_rows(_RECOUNT, span | _CONSTANTS)
    return [
        RollupMismatch(
            level, profile, metric, lane, bucket, (trials, failures), (held, held_failures)
        )
        for level, profile, metric, lane, bucket, trials, failures, held, held_failures in rows
    ]


@transaction.atomic
def _roll_up(limit: int) -> int:
    set_idle_timeout()
    batches = _limit_batches(fetch_rows(_CLAIM_BATCHES, {"limit": limit}))
    if not batches:
        return 0
    ids, times = [batch for batch, _, _ in batches], [at for _, at, _ in batches]
    claimed: dict[str, Any] = {"ids": ids, "first": min(times), "last": max(times)}
    # Keeps the aggregation of half a million rows in memory.
    execute("SET LOCAL work_mem = '64MB'")
    try:
        with transaction.atomic():
            execute(_ADD, claimed | _CONSTANTS)
    except IntegrityError as exc:
        if not isinstance(exc.__cause__, CheckViolation):
            raise
        raise _PartitionMissing([month for (month,) in fetch_rows(_MONTHS, claimed)]) from exc
    return execute(_MARK_ROLLED_UP, claimed)


def _limit_batches(batches: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The first batches that together have at most MAX_ROWS rows, but at least one."""
    rows_so_far = list(accumulate(size for _, _, size in batches))
    return batches[: max(1, bisect_right(rows_so_far, MAX_ROWS))]


_LAG = """
SELECT statement_timestamp() - at FROM dashboard_observationbatch
WHERE rolled_at IS NULL ORDER BY id LIMIT 1
"""

_CLAIM_BATCHES = """
SELECT id, at, rows FROM dashboard_observationbatch
WHERE rolled_at IS NULL ORDER BY id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
"""

_MARK_ROLLED_UP = """
UPDATE dashboard_observationbatch SET rolled_at = statement_timestamp()
WHERE id = ANY(%(ids)s::bigint[])
"""

# The rows of the claimed batches; the time range prunes partitions. Without the cast to the type of
# the column, Postgres would compare every row with every member of the array.
_RAW_OF_BATCHES = """
WITH raw AS (
    SELECT profile_id, lane, verdicts, event_at FROM dashboard_observation
    WHERE batch_id = ANY(%(ids)s::bigint[]) AND at BETWEEN %(first)s AND %(last)s
    UNION ALL
    SELECT profile_id, lane, verdicts, event_at FROM dashboard_observation_overflow
    WHERE batch_id = ANY(%(ids)s::bigint[]))
"""

_MONTHS = f"""{_RAW_OF_BATCHES}
SELECT DISTINCT date_trunc('month', event_at AT TIME ZONE 'UTC')::date FROM raw
"""  # noqa: S608 -- statements of our own

# Equal rows are counted before they are unpacked: few combinations of verdicts occur.
_COUNTED = """,
same AS (
    SELECT profile_id, lane, date_bin('5 minutes', event_at, %(origin)s) AS bucket, verdicts,
        count(*) AS times
    FROM raw GROUP BY 1, 2, 3, 4),
unpacked AS (
    SELECT profile_id, metric, lane, bucket, times, verdicts >> 2 * metric & 3 AS verdict
    FROM same CROSS JOIN unnest(%(places)s::smallint[]) metric),
counted AS MATERIALIZED (
    SELECT profile_id, metric, lane, bucket, sum(times)::integer AS trials,
        COALESCE(sum(times) FILTER (WHERE verdict <> 1), 0)::integer AS failures
    FROM unpacked WHERE verdict <> 0 GROUP BY 1, 2, 3, 4)
"""

# Always in the same order, so that concurrent callers cannot deadlock.
_ADD = f"""{_RAW_OF_BATCHES}{_COUNTED},
five AS (
    INSERT INTO dashboard_rollup5m AS r (profile_id, metric, lane, bucket, trials, failures)
    SELECT * FROM counted ORDER BY 1, 2, 3, 4
    ON CONFLICT (profile_id, metric, lane, bucket) DO UPDATE
    SET trials = r.trials + excluded.trials, failures = r.failures + excluded.failures),
hour AS (
    INSERT INTO dashboard_rolluphour AS r (profile_id, metric, lane, bucket, trials, failures)
    SELECT profile_id, metric, lane, date_bin('1 hour', bucket, %(origin)s), sum(trials),
        sum(failures)
    FROM counted GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
    ON CONFLICT (profile_id, metric, lane, bucket) DO UPDATE
    SET trials = r.trials + excluded.trials, failures = r.failures + excluded.failures)
INSERT INTO dashboard_rollupday AS r (profile_id, metric, lane, bucket, trials, failures)
SELECT profile_id, metric, lane, date_bin('1 day', bucket, %(origin)s), sum(trials), sum(failures)
FROM counted GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
ON CONFLICT (profile_id, metric, lane, bucket) DO UPDATE
SET trials = r.trials + excluded.trials, failures = r.failures + excluded.failures
"""  # noqa: S608 -- statements of our own

# An event is stored at most one day before its own timestamp.
_RAW_OF_DAY = """
WITH every AS (
    SELECT batch_id, at, profile_id, lane, verdicts, event_at FROM dashboard_observation
    UNION ALL
    SELECT batch_id, at, profile_id, lane, verdicts, event_at FROM dashboard_observation_overflow),
raw AS (
    SELECT e.* FROM every e JOIN dashboard_observationbatch b ON b.id = e.batch_id
    WHERE e.event_at >= %(start)s AND e.event_at < %(end)s AND e.at >= %(at)s
        AND b.rolled_at IS NOT NULL)
"""

_RECOUNT = f"""{_RAW_OF_DAY}{_COUNTED},
expected AS (
    SELECT level, profile_id, metric, lane, date_bin(step, bucket, %(origin)s) AS bucket,
        sum(trials)::integer AS trials, sum(failures)::integer AS failures
    FROM counted CROSS JOIN (VALUES ('5m', interval '5 minutes'), ('hour', interval '1 hour'),
        ('day', interval '1 day')) steps (level, step)
    GROUP BY 1, 2, 3, 4, 5),
every_level AS (
    SELECT '5m' AS level, * FROM dashboard_rollup5m
    UNION ALL SELECT 'hour', * FROM dashboard_rolluphour
    UNION ALL SELECT 'day', * FROM dashboard_rollupday),
stored AS (SELECT * FROM every_level WHERE bucket >= %(start)s AND bucket < %(end)s)
SELECT level, profile_id, metric, lane, bucket, COALESCE(e.trials, 0), COALESCE(e.failures, 0),
    COALESCE(s.trials, 0), COALESCE(s.failures, 0)
FROM expected e FULL JOIN stored s USING (level, profile_id, metric, lane, bucket)
WHERE (e.trials, e.failures) IS DISTINCT FROM (s.trials, s.failures)
ORDER BY 1, 2, 3, 4, 5
"""  # noqa: S608 -- statements of our own
