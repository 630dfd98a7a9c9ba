"""Invariants of the run machine that must hold after every step."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from dashboard.core.sql import fetch_rows
from health.modes import fallback_modes
from health.severity import Severity
from probes.outcomes import Metric
from tests.dashboard.runs.run_model import Model


def rows_are_sound(_model: Model) -> Iterator[str]:
    """One active run per endpoint; lease and slot exactly while held; each due slot once."""
    for what, id_ in fetch_rows(_UNSOUND):
        yield f"{what} (id {id_})"


def attempts_never_change(model: Model) -> Iterator[str]:
    """The stored attempts are those recorded with a live lease, as they were first stored."""
    rows = {(run, probe, trial): text for run, probe, trial, text in fetch_rows(_ATTEMPTS)}
    for trial in rows.keys() ^ model.stored.keys():
        yield f"{trial} is {'not in the model' if trial in rows else 'not stored'}"
    for trial in rows.keys() & model.stored.keys():
        if rows[trial] != model.stored[trial]:
            yield f"{trial} was {model.stored[trial]} and is {rows[trial]}"


def ended_rows_never_change(model: Model) -> Iterator[str]:
    """No later step changes or removes ended runs and ended profiles."""
    rows = {(kind, id_): text for kind, id_, text in fetch_rows(_ENDED)}
    for row, text in model.frozen.items():
        if rows.get(row) != text:
            yield f"{row} was {text} and is {rows.get(row)}"
    model.frozen = rows


def leases_match_the_model(model: Model) -> Iterator[str]:
    """The held runs are those whose lease was granted and not revoked."""
    known = {run: holding.lease.token for run, holding in model.holders.items()}
    held = dict(fetch_rows(_HELD))
    if held != known:
        yield f"held by {held}, given to {known}"


def figures_are_written_once(model: Model) -> Iterator[str]:
    """A finished run has its figures and observations once; other runs have none."""
    stored: dict[int, dict[str, tuple[int, int]]] = defaultdict(dict)
    for run, metric, trials, failures in fetch_rows(_FIGURES):
        stored[run][metric] = (trials, failures)
    stored_observations: dict[int, Counter[int]] = defaultdict(Counter)
    for run, packed in fetch_rows(_OBSERVED):
        stored_observations[run][packed] += 1
    for run in stored.keys() | stored_observations.keys() | model.finished.keys():
        figures, observed = model.finished.get(run, ({}, Counter()))
        if stored[run] != figures:
            yield f"run {run}: figures {stored[run]}, recounted {figures}"
        if stored_observations[run] != observed:
            yield f"run {run}: observations {stored_observations[run]}, recounted {observed}"


def spend_matches_the_attempts(model: Model) -> Iterator[str]:
    """The spend of a day is the cost of its attempts plus reservations, and never negative."""
    spent: Counter[Any] = Counter()
    for endpoint, day, requests, tokens, reserved_requests, reserved_tokens in fetch_rows(_SPEND):
        if min(requests, tokens) < 0:
            yield f"endpoint {endpoint} has spent {requests} requests and {tokens} tokens"
        spent["requests", endpoint, model.day(day)] += requests - reserved_requests
        spent["tokens", endpoint, model.day(day)] += tokens - reserved_tokens
    if +spent != +model.paid or -spent:
        yield f"spent without what is reserved {spent}, paid {model.paid}"


def profiles_follow_the_key(model: Model) -> Iterator[str]:
    """The epochs of an endpoint are consecutive; the last is current and has the current key."""
    profiles = fetch_rows(_PROFILES)
    known = [
        (id_, list(range(1, key.epoch + 1)), [key.epoch], key.model, key.template)
        for id_, key in sorted(model.keys.items())
    ]
    if profiles != known:
        yield f"profiles {profiles}, keys {known}"


def incidents_match_the_watch(_model: Model) -> Iterator[str]:
    """Open incidents are the alarms of current profiles, with the modes of their severity on."""
    alarms = {(profile, metric): severity for profile, metric, severity in fetch_rows(_ALARMS)}
    opened = {}
    for profile, metric, severity, modes in fetch_rows(_OPEN):
        opened[profile, metric] = severity
        expected = {mode.value for mode in fallback_modes(Metric(metric), Severity(severity))}
        if set(modes) != expected:
            yield f"{modes} for {metric} of severity {severity}"
    if opened != alarms:
        yield f"incidents {opened}, alarms {alarms}"


INVARIANTS: tuple[Callable[[Model], Iterator[str]], ...] = (
    rows_are_sound,
    attempts_never_change,
    ended_rows_never_change,
    leases_match_the_model,
    figures_are_written_once,
    spend_matches_the_attempts,
    profiles_follow_the_key,
    incidents_match_the_watch,
)


def violations(model: Model) -> list[str]:
    """The violated invariants, each with its docstring and the violation."""
    return [
        f"{check.__doc__} Found: {violation}" for check in INVARIANTS for violation in check(model)
    ]


# Checksums are cheap to compare after a refused write.
TABLES = (
    *("run", "attempt", "evidence", "endpoint", "profile", "spend", "runmetric", "observation"),
    *("watch", "incident", "watchevent", "modeswitch", "notice", "pin", "policy", "policyversion"),
)
_CHECKSUMS = " UNION ALL ".join(
    f"SELECT '{table}', count(*), sum(hashtextextended(t::text, 0)) FROM dashboard_{table} t"  # noqa: S608
    for table in (*TABLES, "observationbatch", "fingerprintchange")
)


def table_checksums() -> list[tuple[Any, ...]]:
    """Count and checksum of each table that a run may change."""
    return sorted(fetch_rows(_CHECKSUMS))


_UNSOUND = """
WITH r AS (SELECT *, state IN ('queued', 'leased', 'running') AS is_active,
    state IN ('leased', 'running') AS is_held FROM dashboard_run)
SELECT 'two active runs of an endpoint', endpoint_id FROM r
    WHERE is_active GROUP BY endpoint_id HAVING count(*) > 1
UNION ALL SELECT 'a lease on a run that is not held, or a held run without a lease', id FROM r
    WHERE is_held <> (lease_token IS NOT NULL) OR is_held <> (lease_owner IS NOT NULL)
        OR is_held <> (lease_expires_at IS NOT NULL)
UNION ALL SELECT 'a slot of a run that is not held, or a held run without a slot', id FROM r
    WHERE is_held <> (slot IS NOT NULL) OR slot < 1
UNION ALL SELECT 'two runs in one slot', min(id) FROM r
    WHERE is_held GROUP BY provider, slot HAVING count(*) > 1
UNION ALL SELECT 'ended and not ended', id FROM r WHERE is_active <> (finished_at IS NULL)
UNION ALL SELECT 'a reservation of a run that is not running', id FROM r
    WHERE state <> 'running' AND (reserved_requests, reserved_tokens) <> (0, 0)
UNION ALL SELECT 'the progress is not the number of attempts', id FROM r
    WHERE done <> (SELECT count(*) FROM dashboard_attempt a
        WHERE a.run_id = r.id AND a.run_at = r.created_at)
UNION ALL SELECT 'more done than planned', id FROM r WHERE done > planned
UNION ALL SELECT 'a due slot finished twice', min(id) FROM r WHERE state = 'finished'
    GROUP BY endpoint_id, key_epoch, trigger, due_at, seq HAVING count(*) > 1
UNION ALL SELECT 'still due at the slot of an ended run', r.id FROM r
    JOIN dashboard_endpoint e ON e.id = r.endpoint_id AND e.next_due_at = r.due_at
    JOIN dashboard_profile p ON p.endpoint_id = e.id AND p.ended_at IS NULL
    WHERE NOT is_active AND p.epoch = r.key_epoch
UNION ALL SELECT 'a run of another epoch, endpoint or provider', r.id FROM r
    JOIN dashboard_profile p ON p.id = r.profile_id
    WHERE (p.epoch, p.endpoint_id, p.provider) <> (r.key_epoch, r.endpoint_id, r.provider)
UNION ALL SELECT 'an active run of an ended profile', r.id FROM r
    JOIN dashboard_profile p ON p.id = r.profile_id
    WHERE is_active AND p.ended_at IS NOT NULL
UNION ALL SELECT 'an active mode of an ended incident or profile', s.id FROM dashboard_modeswitch s
    JOIN dashboard_profile p ON p.id = s.profile_id
    LEFT JOIN dashboard_incident i ON i.id = s.incident_id
    WHERE s.off_at IS NULL AND (p.ended_at IS NOT NULL OR i.ended_at IS NOT NULL)
UNION ALL SELECT 'an incident without exactly one notice', i.id FROM dashboard_incident i
    WHERE (SELECT count(*) FROM dashboard_notice n
        WHERE n.incident_id = i.id AND n.kind = 'incident.opened') <> 1
"""

_ALARMS = """
SELECT w.profile_id, g.key, (g.value -> 'alarm' ->> 'severity')::int
FROM dashboard_watch w JOIN dashboard_profile p ON p.id = w.profile_id AND p.ended_at IS NULL,
    jsonb_each(w.state -> 'gauges') g
WHERE g.value -> 'alarm' <> 'null'
"""

_OPEN = """
SELECT i.profile_id, i.metric, i.severity,
    ARRAY(SELECT mode FROM dashboard_modeswitch s WHERE s.incident_id = i.id AND s.off_at IS NULL)
FROM dashboard_incident i WHERE i.ended_at IS NULL
"""

_ATTEMPTS = "SELECT run_id, probe, trial, a::text FROM dashboard_attempt a"

# Passing time moves due_at and the day of a reservation; nothing else may change them.
_ENDED = """
SELECT 'run', id, (to_jsonb(r) - 'due_at' - 'not_before' - 'dispatched_at' - 'reserved_on')::text
FROM dashboard_run r WHERE finished_at IS NOT NULL
UNION ALL SELECT 'profile', id, p::text FROM dashboard_profile p WHERE ended_at IS NOT NULL
"""

_HELD = "SELECT id, lease_token FROM dashboard_run WHERE state IN ('leased', 'running')"

_FIGURES = "SELECT run_id, metric, trials, failures FROM dashboard_runmetric"

_OBSERVED = "SELECT run_id, verdicts FROM dashboard_observation"

_SPEND = """
SELECT s.endpoint_id, s.day, s.requests, s.tokens, COALESCE(r.reserved_requests, 0),
    COALESCE(r.reserved_tokens, 0)
FROM dashboard_spend s LEFT JOIN dashboard_run r ON r.endpoint_id = s.endpoint_id
    AND r.state = 'running' AND r.reserved_on = s.day
"""

_PROFILES = """
SELECT endpoint_id, array_agg(epoch ORDER BY epoch),
    array_agg(epoch) FILTER (WHERE ended_at IS NULL), (array_agg(model ORDER BY epoch DESC))[1],
    (array_agg(chat_template_hash ORDER BY epoch DESC))[1]
FROM dashboard_profile GROUP BY endpoint_id ORDER BY endpoint_id
"""
