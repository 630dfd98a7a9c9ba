"""Invariants that must hold whatever breaks, as checks of rows. Each yields its violations."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, LiteralString

import psycopg

from health.observation_bits import pack_verdicts
from probes.outcomes import Metric, Verdict
from probes.suite import plan_trials

Connection = psycopg.Connection[tuple[Any, ...]]
Check = Callable[[Connection], Iterator[str]]


def never_two_active_runs(connection: Connection) -> Iterator[str]:
    """I1: an endpoint has at most one run that is queued, leased or running."""
    for endpoint, number in connection.execute(_TWO_ACTIVE):
        yield f"endpoint {endpoint} has {number} active runs"
    if not connection.execute(_ONE_ACTIVE_INDEX).fetchone():
        yield "the unique index run_one_active is gone"


def leases_follow_each_other(connection: Connection) -> Iterator[str]:
    """I1: once a later lease stored an attempt of a run, no earlier one does."""
    for run, probe, token, later in connection.execute(_LATE_WRITES):
        yield f"run {run}: {probe} was stored under lease {token} after one under {later}"


def finished_is_rolled_up_once(connection: Connection) -> Iterator[str]:
    """I2: figures and observations equal a recount of the attempts; others have none."""
    verdicts: dict[int, list[list[Verdict]]] = defaultdict(list)
    for run, stored in connection.execute(_VERDICTS):
        verdicts[run].append([Verdict(Metric(metric), good) for metric, good, *_ in stored])
    figures: dict[int, dict[str, tuple[int, int]]] = defaultdict(dict)
    for run, metric, trials, failures in connection.execute(_FIGURES):
        figures[run][metric] = (trials, failures)
    observed: dict[int, Counter[int]] = defaultdict(Counter)
    for run, packed in connection.execute(_OBSERVED):
        observed[run][packed] += 1
    for run, is_over in connection.execute(_ENDED_BY_FINISH):
        expected = verdicts[run] if is_over else []
        if figures[run] != _recount(expected):
            yield f"run {run}: figures {figures[run]}, recounted {_recount(expected)}"
        if observed[run] != Counter(
            packed for attempt in expected for packed in pack_verdicts(attempt)
        ):
            yield f"run {run}: its observations are not those of its attempts"


def finished_runs_are_whole(connection: Connection) -> Iterator[str]:
    """I3: a finished run has exactly the attempts that its suite plans, each once."""
    stored: dict[int, Counter[tuple[str, int]]] = defaultdict(Counter)
    for run, probe, trial in connection.execute(_TRIALS):
        stored[run][probe, trial] += 1
    for run, suite, planned, counted in connection.execute(_FINISHED):
        expected = Counter((trial.probe, trial.trial) for trial in plan_trials(suite))
        if stored[run] != expected:
            yield f"run {run}: missing {expected - stored[run]}, too many {stored[run] - expected}"
        if not planned == counted == expected.total():
            yield f"run {run}: planned {planned}, counted {counted}, wanted {expected.total()}"


def slots_are_finished_once(connection: Connection) -> Iterator[str]:
    """I5: no slot (endpoint, epoch, trigger, due_at, seq) is finished twice."""
    for slot in connection.execute(_SLOT_TWICE):
        yield f"slot {slot[:-1]} was finished {slot[-1]} times"


def progress_is_what_is_stored(connection: Connection) -> Iterator[str]:
    """The progress of a run is the number of its attempts."""
    for run, done, stored in connection.execute(_PROGRESS):
        yield f"run {run} says {done} done, and {stored} attempts are stored"


def nothing_stays_reserved(connection: Connection) -> Iterator[str]:
    """A run that is not under way holds no place of its provider and none of the budget."""
    for (run,) in connection.execute(_RESERVED):
        yield f"run {run} still holds a place or a part of the budget"


def given_up_runs_move_the_due_time(connection: Connection) -> Iterator[str]:
    """An ended run has moved the due time of its endpoint; a slot is never filled again."""
    for run, endpoint in connection.execute(_UNMOVED):
        yield f"endpoint {endpoint} is still due at the slot of its ended run {run}"


ALWAYS: tuple[Check, ...] = (
    never_two_active_runs,
    leases_follow_each_other,
    finished_is_rolled_up_once,
    finished_runs_are_whole,
    slots_are_finished_once,
    progress_is_what_is_stored,
    nothing_stays_reserved,
    given_up_runs_move_the_due_time,
)


def violations(url: str, checks: Sequence[Check] = ALWAYS) -> list[str]:
    """Every violation, with the promise of its invariant and the details."""
    with psycopg.connect(url) as connection:
        # One snapshot for all checks, or a run that ends meanwhile would look wrong.
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        return [
            f"{check.__doc__} Found: {detail}" for check in checks for detail in check(connection)
        ]


def starved(url: str, since: object) -> list[str]:
    """I4: enabled endpoints without a finished run since then."""
    with psycopg.connect(url) as connection:
        return [row[0] for row in connection.execute(_STARVED, [since])]


def overdue(url: str, seconds: float) -> list[int]:
    """Runs whose lease expired that long ago and that should have been released."""
    with psycopg.connect(url) as connection:
        return [row[0] for row in connection.execute(_OVERDUE, [seconds])]


def _recount(attempts: list[list[Verdict]]) -> dict[str, tuple[int, int]]:
    trials = Counter(verdict.metric.value for attempt in attempts for verdict in attempt)
    failures = Counter(v.metric.value for attempt in attempts for v in attempt if not v.good)
    return {metric: (number, failures[metric]) for metric, number in trials.items()}


_TWO_ACTIVE: LiteralString = """
SELECT endpoint_id, count(*) FROM dashboard_run WHERE state IN ('queued', 'leased', 'running')
GROUP BY endpoint_id HAVING count(*) > 1
"""

_ONE_ACTIVE_INDEX: LiteralString = """
SELECT 1 FROM pg_index
WHERE indexrelid = 'run_one_active'::regclass AND indisunique AND indisvalid
"""

_LATE_WRITES: LiteralString = """
SELECT a.run_id, a.probe, a.token, b.token FROM dashboard_attempt a
JOIN dashboard_attempt b ON b.run_id = a.run_id AND b.run_at = a.run_at
    AND b.token > a.token AND b.created_at < a.created_at
"""

_VERDICTS: LiteralString = "SELECT run_id, verdicts FROM dashboard_attempt"

_FIGURES: LiteralString = "SELECT run_id, metric, trials, failures FROM dashboard_runmetric"

_OBSERVED: LiteralString = (
    "SELECT run_id, verdicts FROM dashboard_observation WHERE run_id IS NOT NULL"
)

# A run with only void attempts is failed, and its figures report the unavailability.
_ENDED_BY_FINISH: LiteralString = """
SELECT id, state = 'finished' OR (state = 'failed' AND passed + failed + void > 0)
FROM dashboard_run
"""

_TRIALS: LiteralString = "SELECT run_id, probe, trial FROM dashboard_attempt"

_FINISHED: LiteralString = """
SELECT id, suite, planned, passed + failed + void FROM dashboard_run WHERE state = 'finished'
"""

_SLOT_TWICE: LiteralString = """
SELECT endpoint_id, key_epoch, trigger, due_at, seq, count(*) FROM dashboard_run
WHERE state = 'finished' GROUP BY 1, 2, 3, 4, 5 HAVING count(*) > 1
"""

_PROGRESS: LiteralString = """
SELECT r.id, r.done, count(a.run_id) FROM dashboard_run r
LEFT JOIN dashboard_attempt a ON a.run_id = r.id AND a.run_at = r.created_at
GROUP BY r.id, r.done HAVING r.done <> count(a.run_id)
"""

_RESERVED: LiteralString = """
SELECT id FROM dashboard_run WHERE state NOT IN ('leased', 'running')
    AND (slot IS NOT NULL OR reserved_requests <> 0 OR reserved_tokens <> 0)
"""

_UNMOVED: LiteralString = """
SELECT r.id, e.slug FROM dashboard_run r
JOIN dashboard_endpoint e ON e.id = r.endpoint_id AND e.next_due_at = r.due_at
WHERE r.finished_at IS NOT NULL AND r.key_epoch =
    (SELECT max(epoch) FROM dashboard_profile p WHERE p.endpoint_id = e.id)
"""

_STARVED: LiteralString = """
SELECT slug FROM dashboard_endpoint e WHERE enabled AND removed_at IS NULL AND NOT EXISTS (
    SELECT 1 FROM dashboard_run r
    WHERE r.endpoint_id = e.id AND r.state = 'finished' AND r.finished_at > %s)
ORDER BY id
"""

_OVERDUE: LiteralString = """
SELECT id FROM dashboard_run WHERE state IN ('leased', 'running')
    AND lease_expires_at < statement_timestamp() - make_interval(secs => %s)
"""
