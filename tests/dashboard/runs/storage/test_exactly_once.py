"""Rollups agree with the raw rows after any sequence of writes, crashes, replays and clean-ups."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from queue import Queue
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import Error, connection, transaction
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dashboard.core import partitions
from dashboard.models import ObservationBatch
from dashboard.models.observation import COLUMNS, Observation
from dashboard.runs import observations, rollups
from dashboard.runs.observations import LIVE, PROBE
from dashboard.system import retention
from tests.dashboard.runs.storage.builders import (
    assert_rolled_up,
    call_concurrently,
    count_overflow,
    roll_up_all,
    sql,
)
from tests.extent import EXTENT

NOW = datetime.now(UTC).replace(microsecond=0)
CRASHES = (
    "dashboard_rollup5m",
    "dashboard_rolluphour",
    "dashboard_rollupday",
    "dashboard_observationbatch",
)
STORE = (*CRASHES, "dashboard_observation", "dashboard_observation_overflow")

# Two bits per metric: none, good or bad.
verdicts = st.lists(st.integers(0, 2), min_size=11, max_size=11).map(
    lambda bits: sum(bit << 2 * place for place, bit in enumerate(bits))
)
# Late by up to a month, within the retention of every rollup.
moments = st.integers(0, 30 * 24 * 60).map(lambda minutes: NOW - timedelta(minutes=minutes))
rows = st.lists(
    st.tuples(st.integers(1, 3), st.just(1), st.sampled_from([PROBE, LIVE]), verdicts, moments).map(
        lambda values: Observation(*values)
    ),
    min_size=1,
    max_size=6,
)
steps = st.one_of(
    st.tuples(st.just("write"), rows),
    st.tuples(st.just("write"), rows),
    st.tuples(st.just("write_and_roll_back"), rows),
    st.tuples(st.just("write_slowly"), rows),
    st.tuples(st.just("end_slow_write"), st.booleans()),
    st.tuples(st.just("replay"), st.integers(0, 20)),
    st.tuples(st.just("roll_up"), st.integers(1, 3)),
    st.tuples(st.just("roll_up_concurrently"), st.integers(2, 3)),
    st.tuples(st.just("crash"), st.sampled_from(CRASHES)),
    st.tuples(st.just("lose_partition"), st.none()),
    st.tuples(st.just("ensure_partitions"), st.none()),
    st.tuples(st.just("let_weeks_pass"), st.none()),
    st.tuples(st.just("drop_expired"), st.booleans()),
)


class Store:
    """The store, and a list of all rows that were ever committed."""

    def __init__(self) -> None:
        self.stored: list[Observation] = []
        self._batches: list[tuple[UUID, list[Observation]]] = []
        self._slow: _SlowWriter | None = None

    def write(self, rows: list[Observation]) -> None:
        batch = uuid4()
        assert observations.store_batch(rows, batch=batch)
        self._note(batch, rows)

    def write_and_roll_back(self, rows: list[Observation]) -> None:
        with transaction.atomic():
            observations.store_batch(rows, batch=uuid4())
            transaction.set_rollback(True)

    def write_slowly(self, rows: list[Observation]) -> None:
        self.end_slow_write(commit=True)
        self._slow = _SlowWriter(uuid4(), rows)

    def end_slow_write(self, commit: bool) -> None:
        if slow := self._slow:
            slow.end(commit=commit)
            if commit:
                self._note(slow.batch, slow.rows)
        self._slow = None

    def replay(self, number: int) -> None:
        if self._batches:
            batch, rows = self._batches[number % len(self._batches)]
            assert not observations.store_batch(rows, batch=batch)

    def roll_up(self, limit: int) -> None:
        rollups.roll_up(limit=limit)

    def roll_up_concurrently(self, callers: int) -> None:
        call_concurrently(callers, lambda: rollups.roll_up(limit=2))

    def crash(self, table: str) -> None:
        """Fail while the roll-up writes to that table."""
        sql(f"SELECT set_config('store.crash', '{table}', false)")
        waiting = ObservationBatch.objects.filter(rolled_at=None).count()
        try:
            rollups.roll_up()
        except Error:
            assert ObservationBatch.objects.filter(rolled_at=None).count() == waiting
        finally:
            sql("SELECT set_config('store.crash', '', false)")

    def lose_partition(self, _: None) -> None:
        """Drop today's partition and move its rows to the overflow."""
        self.end_slow_write(commit=True)
        today = f"dashboard_observation_{partitions.database_today():%Y%m%d}"
        if sql(f"SELECT to_regclass('{today}')") != [(None,)]:
            columns = ", ".join(COLUMNS)
            move = f"INSERT INTO dashboard_observation_overflow ({columns})"
            sql(f"{move} SELECT {columns} FROM {today}")  # noqa: S608
            sql(f"DROP TABLE {today}")

    def ensure_partitions(self, _: None) -> None:
        partitions.ensure_partitions()
        assert count_overflow() == 0

    def let_weeks_pass(self, _: None) -> None:
        """Make the rows of today three weeks old, in a partition of that day."""
        self.lose_partition(None)
        for table in ("observationbatch", "observation_overflow"):
            update = f"UPDATE dashboard_{table} SET at = at - interval '20 days'"  # noqa: S608
            sql(f"{update} WHERE at > now() - interval '10 days'")
        partitions.ensure_partitions()

    def drop_expired(self, after_weeks: bool) -> None:
        self.end_slow_write(commit=True)
        if after_weeks:
            self.let_weeks_pass(None)
        retention.drop_expired_partitions()

    def _note(self, batch: UUID, rows: list[Observation]) -> None:
        self._batches.append((batch, rows))
        self.stored += rows


class _SlowWriter:
    """A transaction in another thread that has stored its rows and not committed yet."""

    def __init__(self, batch: UUID, rows: list[Observation]) -> None:
        self.batch, self.rows = batch, rows
        self._commit: Queue[bool] = Queue()
        self._stored = threading.Event()
        self._pool = ThreadPoolExecutor(1)
        self._done = self._pool.submit(self._write)
        self._stored.wait()

    def end(self, *, commit: bool) -> None:
        self._commit.put(commit)
        self._done.result()
        self._pool.shutdown()

    def _write(self) -> None:
        try:
            with transaction.atomic():
                observations.store_batch(self.rows, batch=self.batch)
                self._stored.set()
                transaction.set_rollback(not self._commit.get())
        finally:
            self._stored.set()
            connection.close()


@pytest.fixture
def crashing(whole_store: None) -> Iterator[None]:
    """Statements fail on the table in `store.crash`."""
    sql("""
        CREATE FUNCTION crash() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF current_setting('store.crash', true) = TG_ARGV[0] THEN
                RAISE 'crashed at %', TG_ARGV[0];
            END IF;
            RETURN NEW;
        END $$
    """)
    for table in CRASHES:
        when = "UPDATE" if table == "dashboard_observationbatch" else "INSERT"
        sql(
            f"CREATE TRIGGER crash BEFORE {when} ON {table} "
            f"FOR EACH ROW EXECUTE FUNCTION crash('{table}')"
        )
    yield
    sql("DROP FUNCTION crash CASCADE")


def _reset_store() -> None:
    sql(f"TRUNCATE {', '.join(STORE)}")
    last_month = (partitions.database_today().replace(day=1) - timedelta(days=1)).strftime("%Y%m")
    for parent in partitions.ROLLUPS:
        sql(f"DROP TABLE IF EXISTS {parent}_{last_month}")
    partitions.ensure_partitions()


@pytest.mark.usefixtures("crashing")
@settings(
    max_examples=EXTENT.store_examples,
    deadline=None,
    # Stories are short, and shrinking one would take minutes.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(story=st.lists(steps, min_size=4, max_size=14))
def test_rollups_equal_a_recount_of_all_rows_ever_stored(story: list[tuple[str, Any]]) -> None:
    """Every committed row is counted exactly once, and no other row is."""
    _reset_store()
    store = Store()

    for step, argument in story:
        getattr(store, step)(argument)
    store.end_slow_write(commit=True)
    roll_up_all()

    assert_rolled_up(store.stored)
    assert rollups.read_lag() is None
