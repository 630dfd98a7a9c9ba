"""Frequent reads must not get slower with a longer history."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext

from dashboard.models import Endpoint
from dashboard.system import prometheus
from dashboard.system.queries import read_system_state
from tests.dashboard.system.builders import sql

OLD = 30_000
GROWING = {"dashboard_run", "dashboard_runmetric", "dashboard_observationbatch"}

_RUNS = """
INSERT INTO dashboard_run (endpoint_id, profile_id, provider, key_epoch, trigger, due_at, seq,
    suite, suite_version, seed, planned, state, finished_at)
SELECT %s, %s, 'openai', 1, 'ttl', statement_timestamp() - n * interval '5 minutes', 0,
    'light', 'old', 1, 5, 'finished', statement_timestamp() - n * interval '5 minutes'
FROM generate_series(1, %s) n
"""
_METRICS = """
INSERT INTO dashboard_runmetric (run_id, profile_id, metric, trials, failures, finished_at)
SELECT id, profile_id, 'parse_success', 5, 0, finished_at FROM dashboard_run
"""
_BATCHES = """
INSERT INTO dashboard_observationbatch (batch, at, rows, rolled_at)
SELECT gen_random_uuid(), statement_timestamp() - n * interval '5 minutes', 5, statement_timestamp()
FROM generate_series(1, %s) n
"""


def test_the_state_scans_no_growing_table(healthy: Endpoint) -> None:
    """With a long history, every query on a growing table uses an index."""
    add_history(healthy)

    with CaptureQueriesContext(connection) as queries:
        read_system_state(None)

    assert scanned_tables(queries) == set()


def test_metrics_scan_no_growing_table(healthy: Endpoint) -> None:
    """The cost of a scrape does not depend on the history."""
    add_history(healthy)

    with CaptureQueriesContext(connection) as queries:
        prometheus.render_metrics("", None)

    assert scanned_tables(queries) == set()


def test_a_sequential_scan_is_detected(healthy: Endpoint) -> None:
    """Otherwise the tests above would prove nothing."""
    add_history(healthy)

    with CaptureQueriesContext(connection) as queries:
        sql("SELECT count(*) FROM dashboard_run WHERE void > 0")

    assert scanned_tables(queries) == {"dashboard_run"}


def add_history(endpoint: Endpoint) -> None:
    sql(_RUNS, endpoint.pk, endpoint.profile.pk, OLD)
    sql(_METRICS)
    sql(_BATCHES, OLD)
    sql(f"ANALYZE {', '.join(GROWING)}")


def scanned_tables(queries: CaptureQueriesContext) -> set[str]:
    """The growing tables that one of the queries scans sequentially."""
    tables = set()
    for query in [query["sql"] for query in queries.captured_queries]:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN (FORMAT JSON) {query}")
            (plan,) = cursor.fetchone()
        plan = json.loads(plan) if isinstance(plan, str) else plan
        tables |= {
            node["Relation Name"]
            for node in plan_nodes(plan[0]["Plan"])
            if node["Node Type"] == "Seq Scan" and node["Relation Name"] in GROWING
        }
    return tables


def plan_nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from plan_nodes(child)
