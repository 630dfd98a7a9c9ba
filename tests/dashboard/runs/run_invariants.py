"""What must hold after every step of the run machine, as statements about rows."""

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
    """One active run an endpoint; a lease and a place while held, and only then; each slot once."""
    for what, id_ in fetch_rows(_UNSOUND):
        yield f"{what} (id {id_})"


def attempts_never_change(model: Model) -> Iterator[str]:
    """What is stored is exactly what a living lease gave, as it was stored first."""
    found = {(run, probe, trial): text for run, probe, trial, text in fetch_rows(_ATTEMPTS)}
    for trial in found.keys() ^ model.stored.keys():
        yield f"{trial} is {'nobody' if trial in found else 'gone, though somebody'}'s attempt"
    for trial in found.keys() & model.stored.keys():
        if found[trial] != model.stored[trial]:
            yield f"{trial} was {model.stored[trial]} and is {found[trial]}"


def what_is_over_stays(model: Model) -> Iterator[str]:
    """Ended runs and ended profiles are history: no later step changes or removes them."""
    found = {(kind, id_): text for kind, id_, text in fetch_rows(_OVER)}
    for row, text in model.frozen.items():
        if found.get(row) != text:
            yield f"{row} was {text} and is {found.get(row)}"
    model.frozen = found


def leases_are_as_given(model: Model) -> Iterator[str]:
    """The runs under way are those whose lease was given and not taken away."""
    known = {run: holding.lease.token for run, holding in model.holders.items()}
    found = dict(fetch_rows(_HELD))
    if found != known:
        yield f"held by {found}, given to {known}"


def figures_come_once(model: Model) -> Iterator[str]:
    """A run that came to its end has its figures and observations once; others have none."""
    shown: dict[int, dict[str, tuple[int, int]]] = defaultdict(dict)
    for run, metric, trials, failures in fetch_rows(_FIGURES):
        shown[run][metric] = (trials, failures)
    seen: dict[int, Counter[int]] = defaultdict(Counter)
    for run, packed in fetch_rows(_OBSERVED):
        seen[run][packed] += 1
    for run in shown.keys() | seen.keys() | model.finished.keys():
        figures, observed = model.finished.get(run, ({}, Counter()))
        if shown[run] != figures:
            yield f"run {run}: figures {shown[run]}, recounted {figures}"
        if seen[run] != observed:
            yield f"run {run}: observations {seen[run]}, recounted {observed}"


def spend_is_what_was_spent(model: Model) -> Iterator[str]:
    """A day's spend is what its attempts cost and what is reserved, and never negative."""
    found: Counter[Any] = Counter()
    for endpoint, day, requests, tokens, reserved_requests, reserved_tokens in fetch_rows(_SPEND):
        if min(requests, tokens) < 0:
            yield f"endpoint {endpoint} has spent {requests} requests and {tokens} tokens"
        found["requests", endpoint, model.day(day)] += requests - reserved_requests
        found["tokens", endpoint, model.day(day)] += tokens - reserved_tokens
    if +found != +model.paid or -found:
        yield f"spent without what is reserved {found}, paid {model.paid}"


def profiles_follow_the_key(model: Model) -> Iterator[str]:
    """Each endpoint has its epochs one by one, the last one current and of the present key."""
    found = fetch_rows(_PROFILES)
    known = [
        (id_, list(range(1, key.epoch + 1)), [key.epoch], key.model, key.template)
        for id_, key in sorted(model.keys.items())
    ]
    if found != known:
        yield f"profiles {found}, keys {known}"


def incidents_are_what_the_watch_says(_model: Model) -> Iterator[str]:
    """Open are the alarms of present profiles, each with the modes of its severity on."""
    alarms = {(profile, metric): severity for profile, metric, severity in fetch_rows(_ALARMS)}
    opened = {}
    for profile, metric, severity, modes in fetch_rows(_OPEN):
        opened[profile, metric] = severity
        wanted = {mode.value for mode in fallback_modes(Metric(metric), Severity(severity))}
        if set(modes) != wanted:
            yield f"{modes} for {metric} of severity {severity}"
    if opened != alarms:
        yield f"incidents {opened}, alarms {alarms}"


ALWAYS: tuple[Callable[[Model], Iterator[str]], ...] = (
    rows_are_sound,
    attempts_never_change,
    what_is_over_stays,
    leases_are_as_given,
    figures_come_once,
    spend_is_what_was_spent,
    profiles_follow_the_key,
    incidents_are_what_the_watch_says,
)


def violations(model: Model) -> list[str]:
    """Every invariant that does not hold, with its promise and what was found."""
    return [f"{check.__doc__} Found: {found}" for check in ALWAYS for found in check(model)]


# As small numbers, so that "nothing has changed" can be said after a write that was refused.
TABLES = (
    *("run", "attempt", "evidence", "endpoint", "profile", "spend", "runmetric", "observation"),
    *("watch", "incident", "watchevent", "modeswitch", "notice", "pin", "policy", "policyversion"),
)
_WORLD = " UNION ALL ".join(
    f"SELECT '{table}', count(*), sum(hashtextextended(t::text, 0)) FROM dashboard_{table} t"  # noqa: S608
    for table in (*TABLES, "observationbatch", "fingerprintchange")
)


def world() -> list[tuple[Any, ...]]:
    """All rows of all tables that a run may change, as sums."""
    return sorted(fetch_rows(_WORLD))


_UNSOUND = """
WITH r AS (SELECT *, state IN ('queued', 'leased', 'running') AS is_active,
    state IN ('leased', 'running') AS is_held FROM dashboard_run)
SELECT 'two active runs of an endpoint', endpoint_id FROM r
    WHERE is_active GROUP BY endpoint_id HAVING count(*) > 1
UNION ALL SELECT 'a lease without its run, or a run under way without a lease', id FROM r
    WHERE is_held <> (lease_token IS NOT NULL) OR is_held <> (lease_owner IS NOT NULL)
        OR is_held <> (lease_expires_at IS NOT NULL)
UNION ALL SELECT 'a place that nobody uses, or a run without one', id FROM r
    WHERE is_held <> (slot IS NOT NULL) OR slot < 1
UNION ALL SELECT 'a place taken twice', min(id) FROM r
    WHERE is_held GROUP BY provider, slot HAVING count(*) > 1
UNION ALL SELECT 'ended and not ended', id FROM r WHERE is_active <> (finished_at IS NULL)
UNION ALL SELECT 'something is reserved by a run that does not run', id FROM r
    WHERE state <> 'running' AND (reserved_requests, reserved_tokens) <> (0, 0)
UNION ALL SELECT 'the progress is not the number of attempts', id FROM r
    WHERE done <> (SELECT count(*) FROM dashboard_attempt a
        WHERE a.run_id = r.id AND a.run_at = r.created_at)
UNION ALL SELECT 'more done than planned', id FROM r WHERE done > planned
UNION ALL SELECT 'a slot finished twice', min(id) FROM r WHERE state = 'finished'
    GROUP BY endpoint_id, key_epoch, trigger, due_at, seq HAVING count(*) > 1
UNION ALL SELECT 'still due at the slot of an ended run', r.id FROM r
    JOIN dashboard_endpoint e ON e.id = r.endpoint_id AND e.next_due_at = r.due_at
    JOIN dashboard_profile p ON p.endpoint_id = e.id AND p.ended_at IS NULL
    WHERE NOT is_active AND p.epoch = r.key_epoch
UNION ALL SELECT 'a run of another epoch, endpoint or provider', r.id FROM r
    JOIN dashboard_profile p ON p.id = r.profile_id
    WHERE (p.epoch, p.endpoint_id, p.provider) <> (r.key_epoch, r.endpoint_id, r.provider)
UNION ALL SELECT 'an active run of a key that is over', r.id FROM r
    JOIN dashboard_profile p ON p.id = r.profile_id
    WHERE is_active AND p.ended_at IS NOT NULL
UNION ALL SELECT 'a mode of an incident or a profile that is over', s.id FROM dashboard_modeswitch s
    JOIN dashboard_profile p ON p.id = s.profile_id
    LEFT JOIN dashboard_incident i ON i.id = s.incident_id
    WHERE s.off_at IS NULL AND (p.ended_at IS NOT NULL OR i.ended_at IS NOT NULL)
UNION ALL SELECT 'an incident not told of once', i.id FROM dashboard_incident i
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

# Letting time pass moves due_at and the day of a reservation; nothing else may.
_OVER = """
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
