"""Finishes a run and writes everything that follows from its attempts, in one transaction."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterable, Sequence

import structlog
from django.conf import settings
from django.db import connection, transaction

from dashboard.core.errors import LeaseLost
from dashboard.core.sql import set_idle_timeout
from dashboard.models import Attempt as AttemptRow
from dashboard.models import Endpoint, Profile, Run, RunMetric
from dashboard.models.observation import Observation
from dashboard.models.run import State
from dashboard.runs import observations
from dashboard.runs.attempts import attempt_from_row
from dashboard.runs.run_sql import RELEASE, refund_reservations
from dashboard.runs.services import Lease
from dashboard.trust import detection, profiles
from dashboard.trust.settle import settle
from health import cadence
from health.capabilities import derive_capabilities, settle_verdicts
from health.effort import measure_effort
from health.observation_bits import pack_verdicts
from health.run_report import compute_rates, count_retries
from health.watch import Watch
from health.watch_counts import count_refusals, watched_rates
from probes.adapters import adapter_for
from probes.outcomes import Attempt
from probes.target import Provider

log = structlog.get_logger()

# The namespace of batch ids: the observations of a run are stored only once.
_BATCHES = uuid.UUID("6f0d4c3a-3f59-4c39-9a43-6f2b1f0f7e11")


@transaction.atomic
def finish_run(lease: Lease) -> None:
    """End the run and write everything that follows from it, all or nothing and only once."""
    set_idle_timeout()
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, {"run": lease.run_id})
        cursor.execute(_FINISH, {"run": lease.run_id, "token": lease.token})
        if not cursor.fetchone():
            raise LeaseLost("The run was taken away before it could be finished.")
    run = Run.objects.select_related("profile").get(pk=lease.run_id)
    attempts = [
        attempt_from_row(row) for row in AttemptRow.objects.of(run).order_by("probe", "trial")
    ]
    endpoint = Endpoint.objects.get(pk=run.endpoint_id)
    run.every = endpoint.ttl
    run.save(update_fields=["every"])
    watch = record_results(run, run.profile, attempts)
    _plan_next(run, endpoint, watch)
    settle(endpoint)
    log.info("run ended", state=run.state, passed=run.passed, failed=run.failed, void=run.void)


def record_results(
    run: Run,
    profile: Profile,
    attempts: Sequence[Attempt],
    *,
    engine_facts: Iterable[tuple[str, str]] = (),
) -> Watch:
    """Write metrics, observations, profile and incidents from the attempts of an ended run.

    `engine_facts` are facts about the endpoint that were not recorded before the run.
    """
    capabilities = derive_capabilities(attempts, adapter_for(Provider(profile.provider)).format)
    parser = profiles.record_text_format(profile, capabilities) or None
    _write_metrics(run, attempts, parser)
    _write_effort(run, attempts)
    observed = [row for attempt in attempts for row in _attempt_observations(run, attempt, parser)]
    observations.store_batch(observed, batch=uuid.uuid5(_BATCHES, str(run.pk)))
    answer_facts = (pair for attempt in attempts for pair in attempt.fingerprint.items())
    facts = dict.fromkeys((*engine_facts, *answer_facts))
    if profiles.record_facts(profile, run.pk, facts, at=run.finished_at):
        run.fingerprint_changed = True
        run.save(update_fields=["fingerprint_changed"])
    if run.state == State.FINISHED:
        profiles.record_capabilities(profile, run, capabilities)
    return detection.follow_run(run, profile)


def _write_metrics(run: Run, attempts: Sequence[Attempt], parser: str | None) -> None:
    assert run.finished_at is not None
    watched, refused = watched_rates(attempts, parser), count_refusals(attempts)
    RunMetric.objects.bulk_create(
        RunMetric(
            run=run,
            profile_id=run.profile_id,
            metric=metric.value,
            trials=rate.trials,
            failures=rate.failures,
            watched_trials=watched[metric].trials,
            watched_failures=watched[metric].failures,
            refused=refused[metric],
            finished_at=run.finished_at,
        )
        for metric, rate in compute_rates(settle_verdicts(attempts, parser)).items()
        if rate.trials
    )


def _write_effort(run: Run, attempts: Sequence[Attempt]) -> None:
    effort = measure_effort(attempts)
    run.latency_p50_ms, run.latency_p95_ms = effort.latency_p50_ms, effort.latency_p95_ms
    run.lost_tokens, run.lost_ms = effort.lost_tokens, effort.lost_ms
    run.retried = dict(count_retries(attempts))
    run.save(
        update_fields=["latency_p50_ms", "latency_p95_ms", "lost_tokens", "lost_ms", "retried"]
    )


def _attempt_observations(run: Run, attempt: Attempt, parser: str | None) -> list[Observation]:
    rows = [
        Observation(
            profile_id=run.profile_id,
            key_epoch=run.key_epoch,
            lane=observations.PROBE,
            verdicts=packed,
            event_at=attempt.started_at,
            run_id=run.pk,
            http_status=attempt.http_status,
        )
        for packed in pack_verdicts(settle_verdicts([attempt], parser))
    ]
    # Facts of the attempt count once, however many rows its trials need.
    first = [
        row._replace(
            latency_ms=attempt.latency_ms,
            first_byte_ms=attempt.first_byte_ms,
            input_tokens=attempt.usage.input_tokens,
            output_tokens=attempt.usage.output_tokens,
        )
        for row in rows[:1]
    ]
    return [*first, *rows[1:]]


def _plan_next(run: Run, endpoint: Endpoint, watch: Watch) -> None:
    """Store when the endpoint is due next and why; it is locked."""
    assert run.finished_at is not None
    has_verdict = run.state == State.FINISHED
    ended = cadence.EndedRun(run.suite, endpoint.ttl, has_verdict, run.fingerprint_changed)
    before = cadence.DueState(endpoint.next_trigger, endpoint.onboarding_left, endpoint.fruitless)
    waits = cadence.WaitTimes(settings.BASELINE_EVERY, settings.CONFIRM_AFTER)
    due, wait = cadence.plan_after_run(ended, before, watch, waits)
    changed = ["next_due_at", "next_trigger", "onboarding_left", "fruitless"]
    if has_verdict:
        # Jitter, so that the endpoints of a fleet are not all probed at once.
        wait *= 0.9 + 0.2 * random.Random(run.seed).random()  # noqa: S311
        endpoint.last_finished_at = run.finished_at
        changed.append("last_finished_at")
    endpoint.next_due_at, endpoint.next_trigger = run.finished_at + wait, due.why
    endpoint.onboarding_left, endpoint.fruitless = due.onboarding_left, due.fruitless
    endpoint.save(update_fields=changed)


# Locks the endpoint before the run, in the same order as an edit of an endpoint.
_LOCK = """
SELECT 1 FROM dashboard_endpoint
WHERE id = (SELECT endpoint_id FROM dashboard_run WHERE id = %(run)s) FOR UPDATE
"""

# Without a pass or a fail there is no verdict; the void findings give the reason.
_FINISH = f"""
WITH me AS MATERIALIZED (
    SELECT id, endpoint_id, created_at, reserved_on, reserved_requests, reserved_tokens
    FROM dashboard_run
    WHERE id = %(run)s AND lease_token = %(token)s AND state = 'running' FOR UPDATE),
counted AS (
    SELECT count(*) FILTER (WHERE a.outcome = 'pass') AS passed,
        count(*) FILTER (WHERE a.outcome = 'fail') AS failed,
        count(*) FILTER (WHERE a.outcome = 'void') AS void,
        COALESCE(sum(a.requests), 0) AS requests,
        COALESCE(sum(a.input_tokens), 0) AS input, COALESCE(sum(a.output_tokens), 0) AS output,
        COALESCE((array_agg(a.findings -> 0 ->> 'message' ORDER BY a.trial)
            FILTER (WHERE a.outcome = 'void'))[1], '') AS why,
        COALESCE(mode() WITHIN GROUP (ORDER BY a.findings -> 0 ->> 'kind')
            FILTER (WHERE a.outcome = 'void'), '') AS void_kind
    FROM me JOIN dashboard_attempt a ON a.run_id = me.id AND a.run_at = me.created_at),
given_back AS ({refund_reservations("me")})
UPDATE dashboard_run r SET finished_at = statement_timestamp(),
    state = CASE WHEN c.passed + c.failed > 0 THEN 'finished' ELSE 'failed' END,
    reason = CASE WHEN c.passed + c.failed > 0 THEN '' ELSE 'No verdict. ' || c.why END,
    void_kind = CASE WHEN c.passed + c.failed > 0 THEN '' ELSE left(c.void_kind, 40) END,
    passed = c.passed, failed = c.failed, void = c.void, requests = c.requests,
    input_tokens = c.input, output_tokens = c.output,
    {RELEASE}
FROM counted c, me WHERE r.id = me.id RETURNING r.id
"""  # noqa: S608 -- statements of our own
