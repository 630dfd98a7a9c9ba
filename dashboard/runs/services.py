"""The life cycle of a run: queued, leased, running, ended. Only the database's clock counts.

Every statement is short, safe for concurrent callers, and sets the endpoint's next_due_at when a
run ends: otherwise the slot would stay due forever and never be filled again. The lock order is
endpoint, run, spend. The clock is statement_timestamp(), as in Django's Now(). Recurring duties
are in schedule.py.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import structlog
from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F
from django.db.models.functions import Least, Now
from psycopg.types.json import Jsonb

from dashboard.audit import services as audit
from dashboard.core import broker
from dashboard.core.errors import LeaseLost, Refused
from dashboard.core.sql import execute, fetch_row
from dashboard.models import Attempt, Endpoint, Run
from dashboard.models.audit import Action
from dashboard.models.run import OVER_BUDGET, PRIORITIES, State, Trigger
from dashboard.runs import credentials
from dashboard.runs.run_sql import BACK_OFF, FRUITLESS, RELEASE, refund_reservations
from health.cadence import FRUITLESS_WAIT
from probes import fingerprint
from probes.errors import TargetError
from probes.findings import FindingKind
from probes.output_limit import RENAMED, OutputLimit
from probes.suite import SUITE_VERSION, Trial, plan_trials
from probes.suite.sampling import Price, estimate_price
from probes.target import Limits, Target

log = structlog.get_logger()

# Two concurrent claims may choose the same slot of a provider; the later one tries again.
MAX_TRIES = 20


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work on a run, until it expires or is revoked."""

    run_id: int
    token: int
    slug: str


@dataclass(frozen=True, slots=True)
class RunWork:
    """The remaining work of a run."""

    target: Target
    trials: tuple[Trial, ...]
    seed: int
    # Whether the facts about the endpoint's engine are still to be read.
    needs_engine_facts: bool
    # What earlier runs of the profile learnt from refusals.
    output_limit: OutputLimit
    reasoning_replay: str = ""  # as the last run measured it


@transaction.atomic
def request_run(
    endpoint: Endpoint,
    *,
    by: User | None,
    suite: str = "light",
    trigger: Trigger = Trigger.MANUAL,
) -> Run:
    """Queue a run on request; if the endpoint has an active run, return that one.

    A queued run gets the priority of this request, and becomes full if a full run is requested.
    """
    # The lock keeps a run of this endpoint from starting or ending between the two reads below.
    endpoint = Endpoint.objects.kept().select_for_update().get(pk=endpoint.pk)
    requested = {"suite": suite, "trigger": trigger.value}
    if active := endpoint.runs.active().first():
        facts = {**requested, "under_way": True}
        audit.record(
            Action.RUN_REQUESTED, subject=str(active), endpoint=endpoint, by=by, after=facts
        )
        return _expedite(active, suite, trigger)
    profile = endpoint.profile
    run = Run.objects.create(
        endpoint=endpoint,
        profile=profile,
        provider=profile.provider,
        key_epoch=profile.epoch,
        trigger=trigger,
        due_at=Now(),
        suite=suite,
        suite_version=SUITE_VERSION,
        seed=random.SystemRandom().getrandbits(53),
        planned=len(plan_trials(suite)),
        priority=PRIORITIES[trigger],
        dispatched_at=Now(),
        requested_by=by,
    )
    audit.record(Action.RUN_REQUESTED, subject=str(run), endpoint=endpoint, by=by, after=requested)
    transaction.on_commit(lambda: _wake_worker(run.pk))
    return run


def price_ceiling(suite: str) -> Price:
    """The maximum cost of a run of a suite."""
    return _estimate_price(plan_trials(suite), needs_engine_facts=True)


def claim_run(*, owner: str) -> Lease | None:
    """Claim the most urgent run whose provider has a free slot; None if there is none.

    One statement without a transaction, as is all that workers do while they probe: a worker that
    freezes at any moment holds no lock.
    """
    values = {
        "owner": owner,
        "lease": settings.RUN_LEASE,
        "versions": [SUITE_VERSION],
        "cap": settings.PROVIDER_RUNS,
        "caps": Jsonb(settings.PROVIDER_RUNS_EXCEPT),
    }
    for _ in range(MAX_TRIES):
        try:
            row = fetch_row(_CLAIM, values)
        except IntegrityError as exc:
            if "run_provider_slot" not in str(exc):
                raise
        else:
            return Lease(run_id=row[0], token=row[1], slug=row[2]) if row else None
    return None


def start_run(lease: Lease) -> RunWork | None:
    """Start or resume a claimed run; None if its endpoint cannot be probed now."""
    run = Run.objects.select_related("endpoint", "profile").get(pk=lease.run_id)
    try:
        target = _build_target(run.endpoint)
    except (TargetError, Refused) as exc:
        fail_run(lease, reason=str(exc), void_kind=FindingKind.TARGET_ERROR.value)
        return None
    stored = set(Attempt.objects.of(run).values_list("probe", "trial"))
    remaining = tuple(
        trial for trial in plan_trials(run.suite) if (trial.probe, trial.trial) not in stored
    )
    needs_engine_facts = run.fingerprint is None
    if not _reserve_and_start(
        lease, run.endpoint, _estimate_price(remaining, needs_engine_facts=needs_engine_facts)
    ):
        return None
    capabilities = run.profile.capabilities
    return RunWork(
        target,
        remaining,
        run.seed,
        needs_engine_facts,
        _known_output_limit(capabilities),
        str((capabilities.get("reasoning_replay") or {}).get("value") or ""),
    )


def renew_lease(lease: Lease) -> None:
    """Extend the lease; raises LeaseLost if it expired or was revoked."""
    values = {"run": lease.run_id, "token": lease.token, "lease": settings.RUN_LEASE}
    if not execute(_RENEW, values):
        raise LeaseLost("The lease ran out or the run was cancelled.")


def fail_run(lease: Lease, *, reason: str, void_kind: str = "", due: str = "backoff") -> None:
    """End a run without a verdict."""
    condition = "id = %(run)s AND lease_token = %(token)s"
    values = {"run": lease.run_id, "token": lease.token, "state": "failed", "reason": reason}
    end_runs(condition, {**values, "void_kind": void_kind}, due=due)


@transaction.atomic
def cancel_run(run: Run, *, by: str) -> bool:
    """Cancel a run; False if it had ended already."""
    values = {"run": run.pk, "state": "abandoned", "reason": f"cancelled by {by}"}
    if not end_runs("id = %(run)s", values):
        return False
    audit.record(Action.RUN_CANCELLED, subject=str(run), endpoint=run.endpoint)
    return True


def abandon_active_run(endpoint: Endpoint, *, reason: str) -> None:
    """Abandon the active run of an endpoint, if any; its worker loses the lease."""
    values = {"endpoint": endpoint.pk, "state": "abandoned", "reason": reason}
    end_runs("endpoint_id = %(endpoint)s", values)


def end_runs(condition: str, values: Mapping[str, Any], *, due: str = "backoff") -> int:
    """End active runs without a verdict. `due` says when the endpoint is due again.

    That is backoff (later each time), now, or tomorrow (with a new daily budget). `condition` is
    SQL on the columns of the run, always a literal of our own services.
    """
    statement = _END.format(condition=condition)
    defaults = {"void_kind": "", "due": due, "fruitless_wait": FRUITLESS_WAIT}
    return execute(statement, {**defaults, **values})


def _expedite(run: Run, suite: str, trigger: Trigger) -> Run:
    waiting = Run.objects.filter(pk=run.pk, state=State.QUEUED)
    waiting.update(priority=Least(F("priority"), PRIORITIES[trigger]))
    if suite == "full":
        # A run that was never claimed has no attempts, so its plan may still grow.
        waiting.filter(claims=0).update(suite=suite, planned=len(plan_trials(suite)))
    run.refresh_from_db()
    return run


def _reserve_and_start(lease: Lease, endpoint: Endpoint, cost: Price) -> bool:
    """Reserve the cost and start; False if the daily budget does not allow it."""
    values = {"run": lease.run_id, "token": lease.token}
    row = fetch_row(_START, {**values, "requests": cost.requests, "tokens": cost.tokens})
    is_held, is_started = row or (0, 0)
    if not is_held:
        raise LeaseLost("The run was taken away before it began.")
    if not is_started:
        reason = _budget_reason(endpoint, cost)
        fail_run(lease, reason=reason, void_kind=OVER_BUDGET, due="tomorrow")
    return bool(is_started)


def _budget_reason(endpoint: Endpoint, cost: Price) -> str:
    limits = {"requests": endpoint.daily_requests, "tokens": endpoint.daily_tokens}
    budget = " and ".join(
        f"{limit:,} {name}" for name, limit in limits.items() if limit is not None
    )
    return (
        f"The budget of {budget} a day leaves no room for this run, which may take "
        f"{cost.requests:,} requests and {cost.tokens:,} tokens. Raise the budget, or wait for "
        "the next day (UTC)."
    )


def _estimate_price(trials: tuple[Trial, ...], *, needs_engine_facts: bool) -> Price:
    cost = estimate_price(trials)
    extra = fingerprint.MOST_REQUESTS if needs_engine_facts else 0
    return Price(cost.requests + extra, cost.tokens + (fingerprint.MOST_TOKENS if extra else 0))


def _known_output_limit(capabilities: Mapping[str, Any]) -> OutputLimit:
    parameter, cap = (
        (capabilities.get(name) or {}).get("value")
        for name in ("output_limit_parameter", "output_limit_cap")
    )
    return OutputLimit(
        parameter if parameter in RENAMED else "", cap if isinstance(cap, int) else None
    )


def _wake_worker(run_id: int) -> None:
    try:
        broker.wake_for_runs([run_id])
    except broker.BrokerDown as exc:
        # The run is not lost: the timer of any worker finds its row.
        log.warning("doorbell not rung", run=run_id, error=str(exc))


def _build_target(endpoint: Endpoint) -> Target:
    idle = settings.PROBE_IDLE_TIMEOUT.total_seconds()
    total = settings.PROBE_TIMEOUT.total_seconds()
    limits = Limits(
        first_byte_s=min(idle, total),
        idle_s=min(idle, total),
        total_s=total,
        max_bytes=settings.PROBE_MAX_BYTES,
        max_stream_bytes=settings.PROBE_MAX_STREAM_BYTES,
    )
    return Target(
        provider=endpoint.provider,  # type: ignore[arg-type]  # Target turns it into a Provider
        base_url=endpoint.base_url,
        model=endpoint.model,
        key=credentials.read_key(endpoint),
        options=endpoint.options,
        max_concurrency=endpoint.max_concurrency,
        limits=limits,
        dialect=endpoint.dialect,
        chat_template_hash=endpoint.chat_template_hash,
    )


# Full providers are computed first, so that the index is read in its own order.
_CLAIM = """
WITH chosen AS MATERIALIZED (
    SELECT id, provider FROM dashboard_run
    WHERE state = 'queued' AND not_before <= statement_timestamp()
        AND suite_version = ANY(%(versions)s)
        AND provider <> ALL (ARRAY(
            SELECT provider FROM dashboard_run WHERE state IN ('leased', 'running')
            GROUP BY provider
            HAVING count(*) >= COALESCE((%(caps)s ->> provider)::int, %(cap)s)))
    ORDER BY priority, not_before FOR UPDATE SKIP LOCKED LIMIT 1),
free AS MATERIALIZED (
    SELECT c.id, s.slot FROM chosen c,
        generate_series(1, COALESCE((%(caps)s ->> c.provider)::int, %(cap)s)) AS s(slot)
    WHERE NOT EXISTS (SELECT 1 FROM dashboard_run r
        WHERE r.provider = c.provider AND r.slot = s.slot AND r.state IN ('leased', 'running'))
    ORDER BY random() LIMIT 1)
UPDATE dashboard_run SET state = 'leased', lease_owner = %(owner)s, slot = free.slot,
    lease_token = nextval('dashboard_fence'), claims = claims + 1,
    lease_expires_at = statement_timestamp() + %(lease)s
FROM free WHERE dashboard_run.id = free.id
RETURNING dashboard_run.id, lease_token,
    (SELECT slug FROM dashboard_endpoint e WHERE e.id = endpoint_id)
"""

# Guards the budget: a run starts only if its maximum cost fits into the rest of today's budget.
_START = """
WITH mine AS MATERIALIZED (
    SELECT r.id, r.endpoint_id, e.daily_requests, e.daily_tokens,
        (statement_timestamp() AT TIME ZONE 'UTC')::date AS day
    FROM dashboard_run r JOIN dashboard_endpoint e ON e.id = r.endpoint_id
    WHERE r.id = %(run)s AND r.lease_token = %(token)s AND r.state = 'leased'
        AND r.lease_expires_at > statement_timestamp() FOR UPDATE OF r),
spent AS (
    INSERT INTO dashboard_spend AS s (endpoint_id, day, requests, tokens)
    SELECT endpoint_id, day, %(requests)s, %(tokens)s FROM mine
    WHERE %(requests)s <= COALESCE(daily_requests, %(requests)s)
        AND %(tokens)s <= COALESCE(daily_tokens, %(tokens)s)
    ON CONFLICT (endpoint_id, day) DO UPDATE
        SET requests = s.requests + EXCLUDED.requests, tokens = s.tokens + EXCLUDED.tokens
        WHERE (SELECT s.requests + EXCLUDED.requests
                    <= COALESCE(daily_requests, s.requests + EXCLUDED.requests)
                AND s.tokens + EXCLUDED.tokens
                    <= COALESCE(daily_tokens, s.tokens + EXCLUDED.tokens) FROM mine)
    RETURNING day),
begun AS (
    UPDATE dashboard_run r SET state = 'running',
        started_at = COALESCE(r.started_at, statement_timestamp()),
        reserved_requests = %(requests)s, reserved_tokens = %(tokens)s, reserved_on = spent.day
    FROM spent WHERE r.id = %(run)s RETURNING r.id)
SELECT (SELECT count(*) FROM mine), (SELECT count(*) FROM begun)
"""

_RENEW = """
UPDATE dashboard_run SET lease_expires_at = statement_timestamp() + %(lease)s
WHERE id = %(run)s AND lease_token = %(token)s AND state IN ('leased', 'running')
    AND lease_expires_at > statement_timestamp()
"""

_END = f"""
WITH mine AS MATERIALIZED (
    SELECT id FROM dashboard_endpoint
    WHERE id IN (SELECT endpoint_id FROM dashboard_run
        WHERE {{condition}} AND finished_at IS NULL)
    ORDER BY id FOR UPDATE),
held AS MATERIALIZED (
    SELECT id, endpoint_id, reserved_on, reserved_requests, reserved_tokens FROM dashboard_run
    WHERE {{condition}} AND endpoint_id IN (SELECT id FROM mine)
        AND finished_at IS NULL FOR UPDATE),
over AS (
    UPDATE dashboard_run SET state = %(state)s, reason = %(reason)s, void_kind = %(void_kind)s,
        finished_at = statement_timestamp(), {RELEASE}
    WHERE id IN (SELECT id FROM held) RETURNING endpoint_id),
given_back AS ({refund_reservations("held")})
UPDATE dashboard_endpoint SET
    spent_out_on = CASE %(due)s WHEN 'tomorrow'
        THEN (statement_timestamp() AT TIME ZONE 'UTC')::date ELSE spent_out_on END,
    fruitless = CASE %(due)s WHEN 'backoff' THEN {FRUITLESS} ELSE fruitless END,
    next_due_at = CASE %(due)s WHEN 'now' THEN statement_timestamp()
        WHEN 'tomorrow' THEN random() * interval '30 minutes' + interval '1 day'
            + date_trunc('day', statement_timestamp(), 'UTC')
        ELSE statement_timestamp() + {BACK_OFF} END
WHERE id IN (SELECT endpoint_id FROM over)
"""  # noqa: S608 -- statements of our own
