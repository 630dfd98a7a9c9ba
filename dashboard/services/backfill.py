"""Storing runs of the past that were played on simulated vendors."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date

from django.db import transaction

from dashboard.models import Attempt as AttemptRow
from dashboard.models import Endpoint, Evidence, Profile, Run
from dashboard.models.run import State
from dashboard.playing import Simulated
from dashboard.services import attempts, partitions, profiles, results
from probes.attempts import Attempt, Outcome
from probes.suite import SUITE_VERSION

# The fence of a lease that nobody ever held.
_NO_TOKEN = 0


@transaction.atomic
def store(endpoint: Endpoint, simulated: Simulated) -> Run:
    """Store a played run with all that follows from it, marked as simulated."""
    month = simulated.at.astimezone(UTC).date().replace(day=1)
    partitions.ensure_for([month])
    profile = _profile(endpoint, simulated)
    run = _run(endpoint, profile, simulated)
    _store_attempts(run, simulated.attempts, month)
    changed = profiles.note_facts(
        profile, run.pk, simulated.engine.facts.items(), at=run.finished_at
    )
    run.fingerprint_changed = bool(changed)
    results.follow(run, profile, simulated.attempts)
    if run.state == State.FINISHED:
        Endpoint.objects.filter(pk=endpoint.pk).update(
            last_finished_at=run.finished_at, next_trigger="ttl"
        )
    return run


def _profile(endpoint: Endpoint, simulated: Simulated) -> Profile:
    current = endpoint.profile
    if current.epoch == 1 and not current.runs.exists():
        # Registered today, but its story began with its first run.
        current.created_at = simulated.at
        current.save(update_fields=["created_at"])
    told, known = simulated.engine.chat_template_hash, current.chat_template_hash
    if told and known and told != known:
        return profiles.open_next(current, told, at=simulated.at)
    if told and not known:
        profiles.adopt_template(current, told)
    return current


def _run(endpoint: Endpoint, profile: Profile, simulated: Simulated) -> Run:
    outcomes = Counter(attempt.outcome for attempt in simulated.attempts)
    void = [attempt for attempt in simulated.attempts if attempt.outcome is Outcome.VOID]
    why = void[0].findings[0].message if void and void[0].findings else ""
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
        state=State.FAILED if simulated.is_fruitless else State.FINISHED,
        reason=f"No verdict. {why}" if simulated.is_fruitless else "",
        claims=1,
        not_before=simulated.at,
        created_at=simulated.at,
        started_at=simulated.at,
        finished_at=simulated.at + simulated.took,
        fingerprint=dict(simulated.engine.facts),
        passed=outcomes[Outcome.PASS],
        failed=outcomes[Outcome.FAIL],
        void=outcomes[Outcome.VOID],
        requests=sum(attempt.evidence.requests for attempt in simulated.attempts),
        input_tokens=sum(attempt.usage.input_tokens or 0 for attempt in simulated.attempts),
        output_tokens=sum(attempt.usage.output_tokens or 0 for attempt in simulated.attempts),
    )


def _store_attempts(run: Run, made: tuple[Attempt, ...], month: date) -> None:
    found = [attempts.columns(attempt) for attempt in made]
    assert run.finished_at is not None
    Evidence.objects.bulk_create(
        [
            Evidence(
                sha256=values["sha256"],
                month=month,
                body=values["body"],
                size=values["size"],
                created_at=run.finished_at,
            )
            for values in found
        ],
        ignore_conflicts=True,
    )
    AttemptRow.objects.bulk_create(
        AttemptRow(
            run=run,
            run_at=run.created_at,
            token=_NO_TOKEN,
            probe=values["probe"],
            trial=values["trial"],
            outcome=values["outcome"],
            findings=values["findings"].obj,
            verdicts=values["verdicts"].obj,
            facts=values["facts"].obj,
            requests=values["requests"],
            http_status=values["status"],
            latency_ms=values["latency"],
            first_byte_ms=values["first_byte"],
            input_tokens=values["input"],
            output_tokens=values["output"],
            fingerprint=values["fingerprint"].obj,
            evidence_sha256=values["sha256"],
            started_at=values["started_at"],
            created_at=run.finished_at,
        )
        for values in found
    )
