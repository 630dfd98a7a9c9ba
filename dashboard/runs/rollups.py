"""Rollups: every batch of observations is added to five minutes, hours and days, exactly once."""

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

# A Monday at midnight: buckets of any width up to a week begin where people expect it.
ORIGIN = datetime(2000, 1, 3, tzinfo=UTC)
# One transaction takes no more than this, one batch at least.
BATCHES, ROWS = 1000, 500_000
# Each finds partitions missing for other months than the one before, at worst.
TRIES = 5
_CONSTANTS: dict[str, Any] = {"places": list(PLACES.values()), "origin": ORIGIN}


@dataclass(frozen=True, slots=True)
class Difference:
    """A bucket whose rollup is not what its raw rows add up to."""

    level: str
    profile_id: int
    metric: int
    lane: int
    bucket: datetime
    counted: tuple[int, int]  # trials and failures of the raw rows
    stored: tuple[int, int]


class _NoPartition(Exception):
    def __init__(self, months: list[date]) -> None:
        super().__init__(f"no partitions for {months}")
        self.months = months


def roll_up(limit: int = BATCHES) -> int:
    """Roll up some batches that wait for it and return how many; 0 when none is left.

    Any number of callers at once: each takes batches of its own. A batch and what it added are
    committed together, so a crash leaves both undone.
    """
    for _ in range(TRIES):
        try:
            return _roll_up(limit)
        except _NoPartition as exc:
            # Not in that transaction: two callers, each with rows in these tables, would lock
            # each other out.
            partitions.ensure_months(exc.months, parents=partitions.ROLLUPS)
    return 0


def lag() -> timedelta | None:
    """The age of the oldest batch that is not rolled up; None when all are."""
    oldest = fetch_row(_LAG)
    return oldest[0] if oldest else None


def recount(day: date) -> list[Difference]:
    """Where the rollups of a day (UTC) differ from its raw rows; batches that wait do not count.

    Only for days whose raw rows and five minutes are still kept.
    """
    kept = min(settings.KEEP_RAW_DAYS, settings.KEEP_5M_DAYS)
    if day <= partitions.database_today() - timedelta(days=kept):
        raise ValueError(f"The raw rows of {day} are not kept any more.")
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    span = {"start": start, "end": start + timedelta(days=1), "at": start - timedelta(days=1)}
    rows = fetch_rows(_RECOUNT, span | _CONSTANTS)
    return [
        Difference(level, profile, metric, lane, bucket, (trials, failures), (held, held_failures))
        for level, profile, metric, lane, bucket, trials, failures, held, held_failures in rows
    ]


@transaction.atomic
def _roll_up(limit: int) -> int:
    set_idle_timeout()
    batches = _some(fetch_rows(_TAKE, {"limit": limit}))
    if not batches:
        return 0
    ids, times = [batch for batch, _, _ in batches], [at for _, at, _ in batches]
    taken: dict[str, Any] = {"ids": ids, "first": min(times), "last": max(times)}
    # The counts of half a million rows should not have to go to disk.
    execute("SET LOCAL work_mem = '64MB'")
    try:
        with transaction.atomic():
            execute(_ADD, taken | _CONSTANTS)
    except IntegrityError as exc:
        if not isinstance(exc.__cause__, CheckViolation):
            raise
        raise _NoPartition([month for (month,) in fetch_rows(_MONTHS, taken)]) from exc
    return execute(_ROLLED, taken)


def _some(batches: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The first of them, as many as make a transaction of bearable length."""
    rows_so_far = list(accumulate(size for _, _, size in batches))
    return batches[: max(1, bisect_right(rows_so_far, ROWS))]


_LAG = """
SELECT statement_timestamp() - at FROM dashboard_observationbatch
WHERE rolled_at IS NULL ORDER BY id LIMIT 1
"""

_TAKE = """
SELECT id, at, rows FROM dashboard_observationbatch
WHERE rolled_at IS NULL ORDER BY id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
"""

_ROLLED = """
UPDATE dashboard_observationbatch SET rolled_at = statement_timestamp()
WHERE id = ANY(%(ids)s::bigint[])
"""

# The rows of the batches taken; their times let Postgres look into few partitions. Of an array of
# another type than the column's, it would compare every row with every member.
_TAKEN = """
WITH raw AS (
    SELECT profile_id, lane, verdicts, event_at FROM dashboard_observation
    WHERE batch_id = ANY(%(ids)s::bigint[]) AND at BETWEEN %(first)s AND %(last)s
    UNION ALL
    SELECT profile_id, lane, verdicts, event_at FROM dashboard_observation_overflow
    WHERE batch_id = ANY(%(ids)s::bigint[]))
"""

_MONTHS = f"""{_TAKEN}
SELECT DISTINCT date_trunc('month', event_at AT TIME ZONE 'UTC')::date FROM raw
"""  # noqa: S608 -- statements of our own

# Equal rows are counted before they are unpacked: there are few ways for a trial to go.
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

# Always in the same order, so that callers wait for each other and never in a circle.
_ADD = f"""{_TAKEN}{_COUNTED},
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

# No event is stored more than a day before it happens.
_OF_DAY = """
WITH every AS (
    SELECT batch_id, at, profile_id, lane, verdicts, event_at FROM dashboard_observation
    UNION ALL
    SELECT batch_id, at, profile_id, lane, verdicts, event_at FROM dashboard_observation_overflow),
raw AS (
    SELECT e.* FROM every e JOIN dashboard_observationbatch b ON b.id = e.batch_id
    WHERE e.event_at >= %(start)s AND e.event_at < %(end)s AND e.at >= %(at)s
        AND b.rolled_at IS NOT NULL)
"""

_RECOUNT = f"""{_OF_DAY}{_COUNTED},
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
