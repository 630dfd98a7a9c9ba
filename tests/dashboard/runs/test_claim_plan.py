"""The cost of finding work does not depend on the number of past runs.

The statements of the services are explained as they are sent, in one transaction on truncated
tables, so that nothing remains, including dead rows.
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
# Allows for dead index entries of other tests. The table of runs has more than twenty thousand
# pages, so a sequential scan exceeds this by far.
FEW_PAGES = 1000
BACKLOG = 10_000


@dataclass(frozen=True, slots=True)
class Plan:
    """How Postgres executed a statement: the scans per table, and the pages read."""

    reads: frozenset[tuple[str, str]]  # table, index or "Seq Scan"
    pages: int
    compared: int  # pairs of rows that a join filter removed


@pytest.fixture(scope="module")
def history(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
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
def now(history: None, db: None) -> None:
    """The state after that history; changes of a test are rolled back."""


def test_a_sequential_scan_would_exceed_the_bounds(now: None) -> None:
    """A single sequential scan of a million runs would exceed the bounds of the other tests."""
    row = fetch_row("SELECT count(*), pg_relation_size('dashboard_run') / 8192 FROM dashboard_run")

    assert row
    assert row[0] == OLD_RUNS
    assert row[1] > 20 * FEW_PAGES


def test_a_claim_reads_only_queued_runs(now: None) -> None:
    """A worker finds the most urgent run by the index of queued runs."""
    make_due("id <= 50")
    schedule.schedule_due()

    plan = explain_call(runs._CLAIM, lambda: runs.claim_run(owner="me"))

    assert ("dashboard_run", "run_claimable") in plan.reads
    assert ("dashboard_run", "Seq Scan") not in plan.reads
    assert plan.pages < FEW_PAGES


def test_a_claim_without_queued_runs_reads_few_pages(now: None) -> None:
    """An idle worker does not read past runs."""
    plan = explain_call(runs._CLAIM, lambda: runs.claim_run(owner="me"))

    assert ("dashboard_run", "Seq Scan") not in plan.reads
    assert plan.pages < FEW_PAGES


def test_due_endpoints_are_found_by_the_index_of_due_times(now: None) -> None:
    """Queueing due runs reads no endpoint that is not due and no ended run."""
    make_due("id <= 50")

    plan = explain_call(schedule._SCHEDULE, schedule.schedule_due)

    assert ("dashboard_endpoint", "endpoint_due") in plan.reads
    assert {index for table, index in plan.reads if table == "dashboard_run"} <= {"run_one_active"}
    # Each of the fifty runs that are queued is an entry in ten indexes.
    assert plan.pages < 50 * 60 + FEW_PAGES


@pytest.mark.parametrize("duty", ["reap_expired_leases", "claim_wakeups", "has_overdue_run"])
def test_recurring_duties_read_no_ended_run(now: None, duty: str) -> None:
    """No recurring duty of the scheduler reads past runs."""
    make_due("id <= 50")
    schedule.schedule_due()
    runs.claim_run(owner="me")
    statement, call = {
        "reap_expired_leases": (schedule._REAP, schedule.reap_expired_leases),
        "claim_wakeups": (schedule._CLAIM_WAKEUPS, lambda: schedule.claim_wakeups(10)),
        "has_overdue_run": (schedule._OVERDUE, schedule.has_overdue_run),
    }[duty]

    plan = explain_call(statement, call)

    assert ("dashboard_run", "Seq Scan") not in plan.reads
    assert plan.pages < FEW_PAGES


def test_a_backlog_of_a_full_provider_is_skipped(now: None, settings: Any) -> None:
    """Behind ten thousand runs of a full provider, a run of another provider is found."""
    settings.PROVIDER_RUNS = 1
    make_due(f"provider = 'openai' AND id <= {2 * BACKLOG}")
    schedule.schedule_due()
    assert runs.claim_run(owner="me")
    make_due("slug = 'e2'")
    schedule.schedule_due()
    execute("ANALYZE dashboard_run")
    leases: list[runs.Lease | None] = []

    plan = explain_call(runs._CLAIM, lambda: leases.append(runs.claim_run(owner="me")))

    assert [lease.slug for lease in leases if lease] == ["e2"]
    assert ("dashboard_run", "run_claimable") in plan.reads
    assert ("dashboard_run", "Seq Scan") not in plan.reads
    assert plan.pages < BACKLOG + FEW_PAGES


def test_due_endpoints_are_found_quickly_with_a_backlog(now: None) -> None:
    """With statistics older than the backlog, the plan does not compare all pairs of rows."""
    make_due(f"id <= {BACKLOG}")
    schedule.schedule_due()

    plan = explain_call(schedule._SCHEDULE, schedule.schedule_due)

    assert plan.compared < 10 * BACKLOG


def make_due(which: str) -> None:
    execute(f"UPDATE dashboard_endpoint SET next_due_at = statement_timestamp() WHERE {which}")  # noqa: S608


def explain_call(statement: str, call: Callable[[], object]) -> Plan:
    """Call a service, and return the plan of one of its statements."""
    plans: list[Plan] = []

    def explain(send: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql == statement and not plans:
            before = transaction.savepoint()
            ((explained,),) = fetch_rows(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", params)
            transaction.savepoint_rollback(before)
            plans.append(_plan(explained[0]["Plan"]))
        return send(sql, params, many, context)

    with connection.execute_wrapper(explain):
        call()
    return plans[0]


@contextmanager
def without_indexes(table: str) -> Iterator[None]:
    """Drop the indexes while the table is filled, which is much faster, and create them again.

    Foreign keys are not restored: they change no plan, and checking a million of them is slow.
    """
    indexes = fetch_rows(_INDEXES, {"table": table})
    for (name,) in fetch_rows(_FOREIGN_KEYS, {"table": table}):
        execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
    for name, _, is_constraint in indexes:
        execute(
            f"ALTER TABLE {table} DROP CONSTRAINT {name}" if is_constraint else f"DROP INDEX {name}"
        )
    yield
    for _, definition, _ in indexes:
        execute(definition)


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

# Without the primary key, which other tables reference.
_INDEXES = """
SELECT quote_ident(c.relname), pg_get_indexdef(c.oid), k.oid IS NOT NULL FROM pg_index i
JOIN pg_class c ON c.oid = i.indexrelid LEFT JOIN pg_constraint k ON k.conindid = c.oid
    AND k.conrelid = i.indrelid
WHERE i.indrelid = %(table)s::regclass AND NOT i.indisprimary
"""
