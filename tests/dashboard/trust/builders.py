"""Runs that find what they are told, now or in a past that was made up, and what followed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models.functions import Now

from dashboard.demo.player import SimulatedRun
from dashboard.demo.services import history
from dashboard.models import Endpoint, Incident, ModeSwitch, Notice, Profile, Run, Watch, WatchEvent
from dashboard.runs import attempts, schedule
from dashboard.runs import services as runs
from dashboard.trust import detection, finish
from probes.fingerprint import EngineFacts
from probes.outcomes import Attempt, Evidence, Metric, Outcome, Verdict
from tests.dashboard.runs.builders import attempt, started

PARSE, CLOSURE = Metric.PARSE_SUCCESS, Metric.CLOSURE_ERROR
BEGAN = datetime(2026, 3, 1, tzinfo=UTC)
EVERY, SOON, DAY = timedelta(hours=6), timedelta(hours=1.5), timedelta(days=1)

# Good and bad trials.
Trials = Mapping[Metric, tuple[int, int]]
HEALTHY: Trials = {PARSE: (60, 0), CLOSURE: (60, 0)}
DEAD: Trials = {PARSE: (0, 60), CLOSURE: (60, 0)}
TAKEN: Trials = {CLOSURE: (10, 0)}
REFUSED: Trials = {CLOSURE: (0, 10)}
REFUSING: Trials = {PARSE: (60, 0), CLOSURE: (0, 60)}


def answer(trials: Trials, trial: int = 1) -> Attempt:
    """One attempt with all these trials."""
    verdicts = [
        Verdict(metric, good=good)
        for metric, counts in trials.items()
        for good, count in zip((True, False), counts, strict=True)
        for _ in range(count)
    ]
    outcome = Outcome.PASS if all(verdict.good for verdict in verdicts) else Outcome.FAIL
    # What is asked differs, so that every attempt has evidence of its own.
    asked = Evidence(({"label": "asked", "request": {"trials": str(trials)}},))
    return attempt(trial, outcome, verdicts=tuple(verdicts), evidence=asked)


def begun(endpoint: Endpoint, trials: Trials) -> runs.Lease:
    """The lease of a run of the endpoint that found this and is not finished yet."""
    Endpoint.objects.exclude(pk=endpoint.pk).update(next_due_at=Now() + SOON)
    Endpoint.objects.filter(pk=endpoint.pk).update(next_due_at=Now())
    schedule.schedule_due()
    lease = started()
    assert lease.slug == endpoint.slug
    attempts.record(lease, answer(trials))
    return lease


def finished(endpoint: Endpoint, *found: Trials) -> Run:
    """One run after the other; returns the last."""
    for trials in found:
        lease = begun(endpoint, trials)
        finish.finish_run(lease)
    return Run.objects.get(pk=lease.run_id)


class Past:
    """Runs of an endpoint at times of our choice, stored as played ones are."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint, self.at = endpoint, BEGAN

    def runs(self, times: int, trials: Trials, *, after: timedelta = EVERY) -> list[Run]:
        return [self.run(trials, after=after) for _ in range(times)]

    def run(
        self, trials: Trials, *, after: timedelta = EVERY, template: str = "", void: bool = False
    ) -> Run:
        self.at += after
        made = attempt(1, Outcome.VOID) if void else answer(trials)
        run = SimulatedRun(
            slug=self.endpoint.slug,
            at=self.at,
            trigger="ttl",
            suite="light",
            seed=1,
            engine=EngineFacts(template, {}),
            attempts=(made,),
            every=EVERY,
        )
        return history.store_simulated_run(self.endpoint, run)


def told(profile: Profile) -> list[str]:
    """The time line of a profile: what was noticed or done, in order."""
    return list(events(profile).values_list("kind", flat=True))


def events(profile: Profile) -> Any:
    return WatchEvent.objects.filter(profile=profile).order_by("id")


def notices(endpoint: Endpoint) -> list[str]:
    return list(
        Notice.objects.filter(endpoint=endpoint).order_by("id").values_list("kind", flat=True)
    )


def on(profile: Profile) -> set[str]:
    """The modes that hold, whoever switched them on."""
    return set(ModeSwitch.objects.on().filter(profile=profile).values_list("mode", flat=True))


def the_incident(profile: Profile) -> Incident:
    return Incident.objects.get(profile=profile)


def is_replayed(profile: Profile) -> bool:
    """Whether all runs and acts, followed again, give the watch as it stands."""
    return detection.replay_watch(profile) == Watch.objects.state_of(profile)
