"""Stores played runs of simulated endpoints."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date

from django.db import connection, transaction

from dashboard.core import partitions
from dashboard.demo.player import SimulatedRun
from dashboard.models import Endpoint, Profile, Run
from dashboard.models.run import State
from dashboard.runs import attempts
from dashboard.trust import finish, profiles
from probes.outcomes import Attempt, Outcome
from probes.suite import SUITE_VERSION

# The fencing token of a run that was never leased.
_NO_TOKEN = 0


@transaction.atomic
def store_simulated_run(endpoint: Endpoint, simulated: SimulatedRun) -> Run:
    """Store a played run as simulated, with its effects on profile, watch and endpoint."""
    month = simulated.at.astimezone(UTC).date().replace(day=1)
    partitions.ensure_months([month])
    profile = _run_profile(endpoint, simulated)
    run = _create_run(endpoint, profile, simulated)
    _store_attempts(run, simulated.attempts, month)
    finish.record_results(
        run, profile, simulated.attempts, engine_facts=simulated.engine.facts.items()
    )
    if run.state == State.FINISHED:
        Endpoint.objects.filter(pk=endpoint.pk).update(
            last_finished_at=run.finished_at, next_trigger="ttl"
        )
    return run


def _run_profile(endpoint: Endpoint, simulated: SimulatedRun) -> Profile:
    current = endpoint.profile
    if simulated.at < current.created_at:
        # The endpoint was registered today, but its history began with its first run.
        current.created_at = simulated.at
        current.save(update_fields=["created_at"])
    template, known = simulated.engine.chat_template_hash, current.chat_template_hash
    if template and known and template != known:
        return profiles.open_next_profile(current, template, at=simulated.at)
    if template and not known:
        profiles.adopt_template(current, template)
    return current


def _create_run(endpoint: Endpoint, profile: Profile, simulated: SimulatedRun) -> Run:
    outcomes = Counter(attempt.outcome for attempt in simulated.attempts)
    void = [attempt for attempt in simulated.attempts if attempt.outcome is Outcome.VOID]
    reason = void[0].findings[0].message if void and void[0].findings else ""
    count = len(simulated.attempts)
    return Run.objects.create(
        endpoint=endpoint,
        profile=profile,
        provider=profile.provider,
        key_epoch=profile.epoch,
        trigger=simulated.trigger,
        due_at=simulated.at,
        suite=simulated.suite,
        suite_version=SUITE_VERSION,
        seed=simulated.seed,
        planned=count,
        done=count,
        simulated=True,
        state=State.FAILED if simulated.has_no_verdict else State.FINISHED,
        reason=f"No verdict. {reason}" if simulated.has_no_verdict else "",
        claims=1,
        not_before=simulated.at,
        created_at=simulated.at,
        started_at=simulated.at,
        finished_at=simulated.at + simulated.took,
        every=simulated.every,
        fingerprint=dict(simulated.engine.facts),
        passed=outcomes[Outcome.PASS],
        failed=outcomes[Outcome.FAIL],
        void=outcomes[Outcome.VOID],
        requests=sum(attempt.evidence.requests for attempt in simulated.attempts),
        input_tokens=sum(attempt.usage.input_tokens or 0 for attempt in simulated.attempts),
        output_tokens=sum(attempt.usage.output_tokens or 0 for attempt in simulated.attempts),
    )


def _store_attempts(run: Run, played: tuple[Attempt, ...], month: date) -> None:
    shared = {
        "run": run.pk,
        "run_at": run.created_at,
        "month": month,
        "token": _NO_TOKEN,
        "stored_at": run.finished_at,
    }
    values = [{**attempts.row_values(attempt), **shared} for attempt in played]
    with connection.cursor() as cursor:
        cursor.executemany(_EVIDENCE, values)
        cursor.executemany(_ATTEMPT, values)


_EVIDENCE = """
INSERT INTO dashboard_evidence (sha256, month, body, size, created_at)
VALUES (%(sha256)s, %(month)s, %(body)s, %(size)s, %(stored_at)s) ON CONFLICT DO NOTHING
"""

_ATTEMPT = """
INSERT INTO dashboard_attempt (run_id, probe, trial, run_at, token, outcome, findings, verdicts,
    facts, requests, http_status, latency_ms, first_byte_ms, input_tokens, output_tokens,
    fingerprint, evidence_sha256, started_at, created_at)
VALUES (%(run)s, %(probe)s, %(trial)s, %(run_at)s, %(token)s, %(outcome)s, %(findings)s,
    %(verdicts)s, %(facts)s, %(requests)s, %(status)s, %(latency)s, %(first_byte)s, %(input)s,
    %(output)s, %(fingerprint)s, %(sha256)s, %(started_at)s, %(stored_at)s)
"""
