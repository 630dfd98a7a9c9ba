"""Looking for work costs the same however many runs there have been.

What the services send is explained as they send it. All of it happens in one transaction on
tables that it emptied first, so that nothing, dead rows included, is left behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import connection, transaction
from pytest_django import DjangoDbBlocker

from dashboard.core.sql import execute, fetch_row, fetch_rows
from dashboard.runs import schedule
from dashboard.runs import services as runs
from probes.suite import SUITE_VERSION

OLD_RUNS = 1_000_000
ENDPOINTS = 20_000
# Entries that other tests left dead in an index are read on the way. The table of runs is more
# than twenty thousand pages: whoever reads it all is far above this.
FEW_PAGES = 1000
CROWD = 10_000


@dataclass(frozen=True, slots=True)
class Plan:
    """How Postgres carried out a statement: each table with how it was read, and the pages."""

    reads: frozenset[tuple[str, str]]  # table, index or "Seq Scan"
    pages: int
    compared: int  # pairs of rows that a join looked at and that did not belong together


@pytest.fixture(scope="module")
def past(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Thousands of endpoints, none due, and a million ended runs."""
    with django_db_blocker.unblock(), transaction.atomic():
        execute("TRUNCATE dashboard_endpoint, dashboard_profile, dashboard_run CASCADE")
        with without_indexes("dashboard_run"):
            execute(_ENDPOINTS, {"count": ENDPOINTS})
            execute(_PROFILES)
            execute(_OLD_RUNS, {"count": OLD_RUNS, "endpoints": ENDPOINTS})
            execute("SET CONSTRAINTS ALL IMMEDIATE")
        execute("ANALYZE dashboard_run, dashboard_endpoint, dashboard_profile")
        yield
        transaction.set_rollback(True)


@pytest.fixture
def now(past: None, db: None) -> None:
    """A moment after all that; what a test does to it is undone."""


def test_there_are_a_million_runs_and_reading_them_all_takes_far_more_pages(now: None) -> None:
    """The bounds of the other tests would be passed by a single sequential scan."""
    found = fetch_row(
        "SELECT count(*), pg_relation_size('dashboard_run') / 8192 FROM dashboard_run"
    )

    assert found
    assert found[0] == OLD_RUNS
    assert found[1] > 20 * FEW_PAGES


def test_a_claim_reads_only_what_waits(now: None) -> None:
    """A worker finds the most urgent run by the index of those that wait."""
    wake("id <= 50")
    schedule.schedule_due()

    plan = explained(runs._CLAIM, lambda: runs.claim_run(owner="me"))

    assert ("dashboard_run", "run_claimable") in plan.reads
    assert ("dashboard_run", "Seq Scan") not in plan.reads
    assert plan.pages < FEW_PAGES


def test_a_claim_where_nothing_waits_reads_next_to_nothing(now: None) -> None:
    """Idle workers ask again and again; the past must not pay for it."""
    plan = explained(runs._CLAIM, lambda: runs.claim_run(owner="me"))

    assert ("dashboard_run", "Seq Scan") not in plan.reads
    assert plan.pages < FEW_PAGES


def test_what_is_due_is_found_by_the_index_of_due_times(now: None) -> None:
    """Queueing what is due looks at no endpoint that is not, and at no run that is over."""
    wake("id <= 50")

    plan = explained(schedule._SCHEDULE, schedule.schedule_due)

    assert ("dashboard_endpoint", "endpoint_due") in plan.reads
    assert {index for table, index in plan.reads if table == "dashboard_run"} <= {"run_one_active"}
    # Each of the fifty runs that are queued is an entry in ten indexes.
    assert plan.pages < 50 * 60 + FEW_PAGES


@pytest.mark.parametrize("duty", ["reap", "to_ring", "is_neglected"])
def test_a_look_around_reads_no_run_that_is_over(now: None, duty: str) -> None:
    """Whatever recurs stays away from the past."""
    wake("id <= 50")
    schedule.schedule_due()
    runs.claim_run(owner="me")
    statement, call = {
        "reap": (schedule._REAP, schedule.reap_expired_leases),
        "to_ring": (schedule._CLAIM_WAKEUPS, lambda: schedule.claim_wakeups(10)),
        "is_neglected": (schedule._OVERDUE, schedule.has_overdue_run),
    }[duty]

    plan = explained(statement, call)

    assert ("dashboard_run", "Seq Scan") not in plan.reads
    assert plan.pages < FEW_PAGES


def test_a_crowd_of_a_full_provider_is_passed_without_reading_the_past(
    now: None, settings: Any
) -> None:
    """Ten thousand runs wait for a provider that is full; another one's run is found behind."""
    settings.PROVIDER_RUNS = 1
    wake(f"provider = 'openai' AND id <= {2 * CROWD}")
    schedule.schedule_due()
    assert runs.claim_run(owner="me")
    wake("slug = 'e2'")
    schedule.schedule_due()
    execute("ANALYZE dashboard_run")
    leases: list[runs.Lease | None] = []

    plan = explained(runs._CLAIM, lambda: leases.append(runs.claim_run(owner="me")))

    assert [lease.slug for lease in leases if lease] == ["e2"]
    assert ("dashboard_run", "run_claimable") in plan.reads
    assert ("dashboard_run", "Seq Scan") not in plan.reads
    assert plan.pages < CROWD + FEW_PAGES


def test_what_is_due_is_found_quickly_while_a_crowd_waits(now: None) -> None:
    """Statistics from before the crowd came must not lead to comparing each with each."""
    wake(f"id <= {CROWD}")
    schedule.schedule_due()

    plan = explained(schedule._SCHEDULE, schedule.schedule_due)

    assert plan.compared < 10 * CROWD


def wake(which: str) -> None:
    execute(f"UPDATE dashboard_endpoint SET next_due_at = statement_timestamp() WHERE {which}")  # noqa: S608


def explained(statement: str, call: Callable[[], object]) -> Plan:
    """Let a service do its work, and tell how the statement in it was carried out."""
    plans: list[Plan] = []

    def explain(send: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql == statement and not plans:
            before = transaction.savepoint()
            ((found,),) = fetch_rows(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", params)
            transaction.savepoint_rollback(before)
            plans.append(_plan(found[0]["Plan"]))
        return send(sql, params, many, context)

    with connection.execute_wrapper(explain):
        call()
    return plans[0]


@contextmanager
def without_indexes(table: str) -> Iterator[None]:
    """Filling a table and then making its indexes takes a fraction of filling it with them.

    Foreign keys do not come back: they change no plan, and checking a million of them is slow.
    """
    indexes = fetch_rows(_INDEXES, {"table": table})
    for (name,) in fetch_rows(_FOREIGN_KEYS, {"table": table}):
        execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
    for name, _, is_constraint in indexes:
        execute(
            f"ALTER TABLE {table} DROP CONSTRAINT {name}" if is_constraint else f"DROP INDEX {name}"
        )
    yield
    for _, made, _ in indexes:
        execute(made)


def _plan(root: dict[str, Any]) -> Plan:
    reads = frozenset(
        (node.get("Relation Name", "dashboard_run"), node.get("Index Name", node["Node Type"]))
        for node in _nodes(root)
        if "Scan" in node["Node Type"] and ("Relation Name" in node or "Index Name" in node)
    )
    compared = sum(
        node.get("Rows Removed by Join Filter", 0) * node["Actual Loops"] for node in _nodes(root)
    )
    return Plan(reads, root["Shared Hit Blocks"] + root["Shared Read Blocks"], compared)


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from _nodes(child)


_ENDPOINTS = """
INSERT INTO dashboard_endpoint (id, slug, provider, base_url, model, options, ttl, max_concurrency,
    enabled, next_due_at, next_trigger, fruitless, onboarding_left)
SELECT n, 'e' || n, CASE n %% 2 WHEN 1 THEN 'openai' ELSE 'anthropic' END, 'http://127.0.0.1:9/v1',
    'm', '{}', interval '6 hours', 2, true,
    statement_timestamp() + interval '1 hour' + n * interval '1 second', 'ttl', 0, 0
FROM generate_series(1, %(count)s) n
"""

_PROFILES = """
INSERT INTO dashboard_profile (id, endpoint_id, epoch, provider, model, endpoint_url,
    chat_template_hash, key_hash, fingerprint, verified_at)
SELECT id, id, 1, provider, model, base_url, '', '', '{}', statement_timestamp()
FROM dashboard_endpoint
"""

_OLD_RUNS = f"""
INSERT INTO dashboard_run (endpoint_id, profile_id, provider, key_epoch, trigger, due_at, suite,
    suite_version, seed, planned, done, passed, claims, state, created_at, not_before,
    dispatched_at, started_at, finished_at)
SELECT 1 + n %% %(endpoints)s, 1 + n %% %(endpoints)s, 'openai', 1, 'ttl', at, 'light',
    '{SUITE_VERSION}', n, 11, 11, 11, 1, 'finished', at, at, at, at, at
FROM generate_series(1, %(count)s) n,
    LATERAL (SELECT statement_timestamp() - (%(count)s - n) * interval '20 seconds') AS t (at)
"""  # noqa: S608 -- a name of our own

_FOREIGN_KEYS = """
SELECT quote_ident(conname) FROM pg_constraint
WHERE conrelid = %(table)s::regclass AND contype = 'f'
"""

# The primary key stays: other tables refer to it.
_INDEXES = """
SELECT quote_ident(c.relname), pg_get_indexdef(c.oid), k.oid IS NOT NULL FROM pg_index i
JOIN pg_class c ON c.oid = i.indexrelid LEFT JOIN pg_constraint k ON k.conindid = c.oid
    AND k.conrelid = i.indrelid
WHERE i.indrelid = %(table)s::regclass AND NOT i.indisprimary
"""
