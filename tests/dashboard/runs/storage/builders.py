"""Observations for tests, and what the rollups of them must be."""

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


def observe(*, profile: int = 1, at: datetime | None = None, **metrics: bool) -> Observation:
    """One live event with these verdicts; a good parse now, unless told otherwise."""
    verdicts = [Verdict(Metric(name), good) for name, good in metrics.items()]
    (packed,) = pack_verdicts(verdicts or [Verdict(Metric.PARSE_SUCCESS, good=True)])
    return Observation(profile, 1, LIVE, packed, at or datetime.now(UTC))


def store(*rows: Observation) -> None:
    assert observations.store_batch(rows, batch=uuid4())


def roll_all() -> None:
    while rollups.roll_up():
        pass


def counted(rows: Iterable[Observation], step: timedelta) -> Counts:
    """What a rollup of that step must hold, counted in Python."""
    trials: Counter[Any] = Counter()
    failures: Counter[Any] = Counter()
    for row in rows:
        bucket = EPOCH + (row.event_at - EPOCH) // step * step
        for verdict in unpack_verdicts(row.verdicts):
            key = (row.profile_id, PLACES[verdict.metric], row.lane, bucket)
            trials[key] += 1
            failures[key] += not verdict.good
    return {key: (trials[key], failures[key]) for key in trials}


def held(level: type[Rollup]) -> Counts:
    """What a rollup holds."""
    fields = ("profile_id", "metric", "lane", "bucket", "trials", "failures")
    rows = level._default_manager.values_list(*fields)
    return {(p, m, lane, bucket): (t, f) for p, m, lane, bucket, t, f in rows}


def assert_rolled(rows: Sequence[Observation]) -> None:
    for level, step in LEVELS.items():
        assert held(level) == counted(rows, step), level.__name__


def raw() -> int:
    """How many rows lie in the partitions."""
    return _count("dashboard_observation")


def overflow() -> int:
    return _count("dashboard_observation_overflow")


def at_once(callers: int, call: Callable[[], Any]) -> list[Any]:
    """The answers of some threads that begin together, each with a connection of its own."""
    ready = Barrier(callers)

    def alone(_: int) -> Any:
        try:
            connection.ensure_connection()
            ready.wait()
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(callers) as pool:
        return list(pool.map(alone, range(callers)))


def sql(statement: str, *values: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values or None)
        return cursor.fetchall() if cursor.description else []


def _count(table: str) -> int:
    return int(sql(f"SELECT count(*) FROM {table}")[0][0])  # noqa: S608
