"""Observations for tests, and their expected rollups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import Any
from uuid import uuid4

from django.db import connection

from dashboard.models import Rollup5m, RollupDay, RollupHour
from dashboard.models.observation import Observation, Rollup
from dashboard.runs import observations, rollups
from dashboard.runs.observations import LIVE
from health.observation_bits import PLACES, pack_verdicts, unpack_verdicts
from probes.outcomes import Metric, Verdict

LEVELS: dict[type[Rollup], timedelta] = {
    Rollup5m: timedelta(minutes=5),
    RollupHour: timedelta(hours=1),
    RollupDay: timedelta(days=1),
}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# (profile, metric, lane, bucket) to (trials, failures)
Counts = dict[tuple[int, int, int, datetime], tuple[int, int]]


def build_observation(
    *, profile: int = 1, at: datetime | None = None, **metrics: bool
) -> Observation:
    """A live event with these verdicts; by default a good parse now."""
    verdicts = [Verdict(Metric(name), good) for name, good in metrics.items()]
    (packed,) = pack_verdicts(verdicts or [Verdict(Metric.PARSE_SUCCESS, good=True)])
    return Observation(profile, 1, LIVE, packed, at or datetime.now(UTC))


def store_observations(*rows: Observation) -> None:
    assert observations.store_batch(rows, batch=uuid4())


def roll_up_all() -> None:
    while rollups.roll_up():
        pass


def expected_counts(rows: Iterable[Observation], step: timedelta) -> Counts:
    """The expected counts of a rollup with that step."""
    trials: Counter[Any] = Counter()
    failures: Counter[Any] = Counter()
    for row in rows:
        bucket = EPOCH + (row.event_at - EPOCH) // step * step
        for verdict in unpack_verdicts(row.verdicts):
            key = (row.profile_id, PLACES[verdict.metric], row.lane, bucket)
            trials[key] += 1
            failures[key] += not verdict.good
    return {key: (trials[key], failures[key]) for key in trials}


def stored_counts(level: type[Rollup]) -> Counts:
    fields = ("profile_id", "metric", "lane", "bucket", "trials", "failures")
    rows = level._default_manager.values_list(*fields)
    return {(p, m, lane, bucket): (t, f) for p, m, lane, bucket, t, f in rows}


def assert_rolled_up(rows: Sequence[Observation]) -> None:
    for level, step in LEVELS.items():
        assert stored_counts(level) == expected_counts(rows, step), level.__name__


def count_raw() -> int:
    """The number of rows in the partitions."""
    return _count("dashboard_observation")


def count_overflow() -> int:
    return _count("dashboard_observation_overflow")


def call_concurrently(callers: int, call: Callable[[], Any]) -> list[Any]:
    """The results of threads that start together, each with its own connection."""
    ready = Barrier(callers)

    def call_on_own_connection(_: int) -> Any:
        try:
            connection.ensure_connection()
            ready.wait()
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(callers) as pool:
        return list(pool.map(call_on_own_connection, range(callers)))


def sql(statement: str, *values: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values or None)
        return cursor.fetchall() if cursor.description else []


def _count(table: str) -> int:
    return int(sql(f"SELECT count(*) FROM {table}")[0][0])  # noqa: S608
