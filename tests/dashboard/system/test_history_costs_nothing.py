"""What is read every few seconds must not be paid for by the size of the past."""

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


def test_the_state_reads_no_old_run_and_no_old_batch(healthy: Endpoint) -> None:
    """With a long past behind it, every query on a growing table goes by an index."""
    grow_old(healthy)

    with CaptureQueriesContext(connection) as asked:
        read_system_state(None)

    assert scanned(asked) == set()


def test_metrics_read_the_last_run_of_each_endpoint_only(healthy: Endpoint) -> None:
    """A scrape is as cheap in the tenth year as on the first day."""
    grow_old(healthy)

    with CaptureQueriesContext(connection) as asked:
        prometheus.render_metrics("")

    assert scanned(asked) == set()


def test_a_scan_would_be_seen(healthy: Endpoint) -> None:
    """The look at the plans above finds a table that is read from end to end."""
    grow_old(healthy)

    with CaptureQueriesContext(connection) as asked:
        sql("SELECT count(*) FROM dashboard_run WHERE void > 0")

    assert scanned(asked) == {"dashboard_run"}


def grow_old(endpoint: Endpoint) -> None:
    sql(_RUNS, endpoint.pk, endpoint.profile.pk, OLD)
    sql(_METRICS)
    sql(_BATCHES, OLD)
    sql(f"ANALYZE {', '.join(GROWING)}")


def scanned(asked: CaptureQueriesContext) -> set[str]:
    """The growing tables that one of these queries reads from end to end."""
    found = set()
    for query in [query["sql"] for query in asked.captured_queries]:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN (FORMAT JSON) {query}")
            (plan,) = cursor.fetchone()
        plan = json.loads(plan) if isinstance(plan, str) else plan
        found |= {
            node["Relation Name"]
            for node in nodes(plan[0]["Plan"])
            if node["Node Type"] == "Seq Scan" and node["Relation Name"] in GROWING
        }
    return found


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child)
