"""A fleet with a year of history, written by Postgres itself."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import connection

PROVIDERS = ["openai", "anthropic", "qwen", "deepseek"]
STAGES = ["shadow", "read_only", "write", "full"]
METRICS = [
    *("parse_success", "schema_failure", "closure_error", "reasoning_replay_error"),
    *("repair_success", "parallel_downgrade", "unsafe_blocked", "stream_disagreement"),
    *("result_use", "value_fidelity", "availability"),
]
# Attempts per run of the measured endpoint, and its live requests per hour.
FEW_ATTEMPTS, MANY_ATTEMPTS = 12, 1_000
FEW_EVENTS, MANY_EVENTS = 10, 1_000
# The days whose raw rows are kept.
RAW_DAYS = 30


def add_endpoints(first: int, last: int, *, days: int) -> None:
    """Endpoints with these numbers, each with a run per day, its figures and a watch."""
    numbers = {"first": first, "last": last}
    _sql(_ENDPOINTS, **numbers, providers=PROVIDERS)
    _sql(_PROFILES, **numbers, stages=STAGES)
    # A single statement for all would take gigabytes of memory.
    for start in range(first, last + 1, 100):
        batch = {"first": start, "last": min(start + 99, last)}
        _sql(_RUNS, **batch, days=days)
        _sql(_FIGURES, **batch, metrics=METRICS)
    _sql(_WATCHES, **numbers)
    _sql(_INCIDENTS, **numbers)
    _sql(_MODES, **numbers)


def make_partitions(days: int) -> None:
    from dashboard.core import partitions

    today = partitions.database_today()
    partitions.ensure_months([today - timedelta(days=number) for number in range(days + 31)])
    partitions.ensure_days([today - timedelta(days=number) for number in range(-1, RAW_DAYS + 1)])


def add_raw_rows(endpoint: int, *, attempts: range, events: int) -> int:
    """Attempts of the endpoint's past runs, and live events; returns how many in total."""
    from dashboard.runs import rollups

    rows = _sql(_ATTEMPTS, endpoint=endpoint, first=attempts.start, last=attempts.stop - 1)
    rows += _sql(_EVENTS, endpoint=endpoint, events=events, hours=RAW_DAYS * 24)
    while rollups.roll_up():
        pass
    return rows


def settle() -> None:
    """What autovacuum would have done in a year."""
    _sql("VACUUM ANALYZE")


def _sql(statement: str, **values: Any) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, values or None)
        return int(cursor.rowcount)


_ENDPOINTS = """
INSERT INTO dashboard_endpoint (id, slug, provider, base_url, model, options, ttl, max_concurrency,
    enabled, next_due_at, next_trigger, last_finished_at, fruitless, onboarding_left, tags)
SELECT n, 'endpoint-' || lpad(n::text, 4, '0'), (%(providers)s::text[])[1 + n %% 4],
    'http://10.0.' || n / 250 || '.' || n %% 250 || ':8000/v1', 'model-' || n %% 40, '{}',
    interval '1 day', 4, true, statement_timestamp() + n %% 1440 * interval '1 minute', 'ttl',
    statement_timestamp() - n %% 1440 * interval '1 minute', 0, 0,
    ARRAY['team-' || n %% 12, 'region-' || n %% 4]
FROM generate_series(%(first)s, %(last)s) n
"""

_PROFILES = """
INSERT INTO dashboard_profile (id, endpoint_id, epoch, provider, model, endpoint_url,
    chat_template_hash, key_hash, fingerprint, in_force, stage, created_at)
SELECT id, id, 1, provider, model, base_url, '', '', '{}', true,
    (%(stages)s::text[])[1 + id %% 4], statement_timestamp() - interval '366 days'
FROM dashboard_endpoint WHERE id BETWEEN %(first)s AND %(last)s
"""

# The newest run has the highest id, and endpoints are probed at different times of the day.
_RUNS = """
INSERT INTO dashboard_run (endpoint_id, profile_id, provider, key_epoch, trigger, due_at, suite,
    suite_version, seed, planned, done, passed, claims, state, created_at, not_before,
    dispatched_at, started_at, finished_at, every)
SELECT e.id, e.id, e.provider, 1, 'ttl', at, 'light', 'v1', day, 12, 12, 12, 1, 'finished', at, at,
    at, at, at, interval '1 day'
FROM generate_series(1, %(days)s) day
CROSS JOIN dashboard_endpoint e,
    LATERAL (SELECT statement_timestamp() - (%(days)s - day) * interval '1 day'
        - e.id %% 1440 * interval '1 minute') t (at)
WHERE e.id BETWEEN %(first)s AND %(last)s ORDER BY day, e.id
"""

# Most endpoints are good most of the time, none always.
_FIGURES = """
INSERT INTO dashboard_runmetric (run_id, profile_id, metric, trials, failures, watched_trials,
    watched_failures, finished_at)
SELECT r.id, r.profile_id, metric, 12, bad, 12, bad, r.finished_at
FROM dashboard_run r CROSS JOIN unnest(%(metrics)s::text[]) metric,
    LATERAL (SELECT abs(hashtextextended(metric, r.id) %% 42)) d (dice),
    LATERAL (SELECT CASE WHEN dice %% 7 = 0 THEN dice / 7 ELSE 0 END) f (bad)
WHERE r.endpoint_id BETWEEN %(first)s AND %(last)s
"""

_WATCHES = """
INSERT INTO dashboard_watch (profile_id, lane, state, pending, known)
SELECT id, 0, '{}', '{}', 'frozen' FROM dashboard_profile WHERE id BETWEEN %(first)s AND %(last)s
"""

# One endpoint in ten has an incident.
_INCIDENTS = """
INSERT INTO dashboard_incident (profile_id, metric, severity, worst, refused, state, figures,
    opened_at, opened_by, release_wanted)
SELECT id, 'parse_success', 1 + id %% 3, 1 + id %% 3, false, 'open',
    '{"reference": 0.98, "estimate": 0.71}', statement_timestamp() - interval '2 hours', 1, false
FROM dashboard_profile WHERE id BETWEEN %(first)s AND %(last)s AND id %% 10 = 0
"""
_MODES = """
INSERT INTO dashboard_modeswitch (profile_id, mode, incident_id, reason, figures, off_reason)
SELECT profile_id, mode, id, 'it fell', '{}', ''
FROM dashboard_incident CROSS JOIN unnest(ARRAY['strong_validation', 'read_only_tools']) mode
WHERE profile_id BETWEEN %(first)s AND %(last)s
"""

# The last run is ordinary: its page lists its findings one by one.
_ATTEMPTS = """
INSERT INTO dashboard_attempt (run_id, probe, trial, run_at, token, outcome, findings, verdicts,
    facts, requests, http_status, latency_ms, fingerprint, started_at, created_at)
SELECT r.id, 'format', trial, r.created_at, 1, 'pass', '[]', '[["parse_success", true]]', '{}', 1,
    200, 100 + trial %% 900, '{}', r.created_at, r.created_at
FROM dashboard_run r CROSS JOIN generate_series(%(first)s, %(last)s) trial,
    (SELECT max(id) AS last FROM dashboard_run WHERE endpoint_id = %(endpoint)s) newest
WHERE r.endpoint_id = %(endpoint)s AND (trial <= 12 OR r.id < newest.last)
"""

_EVENTS = """
WITH hours AS (
    INSERT INTO dashboard_observationbatch (batch, at, rows)
    SELECT gen_random_uuid(), date_trunc('hour', statement_timestamp()) - n * interval '1 hour',
        %(events)s
    FROM generate_series(1, %(hours)s) n RETURNING id, at)
INSERT INTO dashboard_observation (at, batch_id, profile_id, key_epoch, lane, verdicts, event_at,
    latency_ms, http_status)
SELECT at, id, %(endpoint)s, 1, 1, (ARRAY[1, 5, 9, 2])[1 + row %% 4],
    at + row * interval '1 hour' / %(events)s, row %% 9000, 200
FROM hours, generate_series(1, %(events)s) row
"""
