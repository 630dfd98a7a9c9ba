"""Builds runs with chosen results, now or in a simulated past, and reads what followed."""

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
from tests.dashboard.runs.builders import build_attempt, start_next_run

PARSE, CLOSURE = Metric.PARSE_SUCCESS, Metric.CLOSURE_ERROR
BEGAN = datetime(2026, 3, 1, tzinfo=UTC)
EVERY, SOON, DAY = timedelta(hours=6), timedelta(hours=1.5), timedelta(days=1)

# Passed and failed trials per metric.
Trials = Mapping[Metric, tuple[int, int]]
HEALTHY: Trials = {PARSE: (60, 0), CLOSURE: (60, 0)}
DEAD: Trials = {PARSE: (0, 60), CLOSURE: (60, 0)}
NOT_REFUSED: Trials = {CLOSURE: (10, 0)}
REFUSED: Trials = {CLOSURE: (0, 10)}
REFUSING: Trials = {PARSE: (60, 0), CLOSURE: (0, 60)}


def attempt_with(trials: Trials, trial: int = 1) -> Attempt:
    """One attempt with all these trials."""
    verdicts = [
        Verdict(metric, good=good)
        for metric, counts in trials.items()
        for good, count in zip((True, False), counts, strict=True)
        for _ in range(count)
    ]
    outcome = Outcome.PASS if all(verdict.good for verdict in verdicts) else Outcome.FAIL
    # The request differs, so that every attempt has its own evidence.
    evidence = Evidence(({"label": "asked", "request": {"trials": str(trials)}},))
    return build_attempt(trial, outcome, verdicts=tuple(verdicts), evidence=evidence)


def begin_run(endpoint: Endpoint, trials: Trials) -> runs.Lease:
    """Start a run of the endpoint with these results; it is not finished yet."""
    Endpoint.objects.exclude(pk=endpoint.pk).update(next_due_at=Now() + SOON)
    Endpoint.objects.filter(pk=endpoint.pk).update(next_due_at=Now())
    schedule.schedule_due()
    lease = start_next_run()
    assert lease.slug == endpoint.slug
    attempts.record_attempt(lease, attempt_with(trials))
    return lease


def finish_runs(endpoint: Endpoint, *results: Trials) -> Run:
    """Make one run per argument; returns the last."""
    for trials in results:
        lease = begin_run(endpoint, trials)
        finish.finish_run(lease)
    return Run.objects.get(pk=lease.run_id)


class Past:
    """Runs of an endpoint at chosen times, stored like those of the demo."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint, self.at = endpoint, BEGAN

    def runs(self, times: int, trials: Trials, *, after: timedelta = EVERY) -> list[Run]:
        return [self.run(trials, after=after) for _ in range(times)]

    def run(
        self, trials: Trials, *, after: timedelta = EVERY, template: str = "", void: bool = False
    ) -> Run:
        self.at += after
        only_attempt = build_attempt(1, Outcome.VOID) if void else attempt_with(trials)
        run = SimulatedRun(
            slug=self.endpoint.slug,
            at=self.at,
            trigger="ttl",
            suite="light",
            seed=1,
            engine=EngineFacts(template, {}),
            attempts=(only_attempt,),
            every=EVERY,
        )
        return history.store_simulated_run(self.endpoint, run)


def event_kinds(profile: Profile) -> list[str]:
    """The kinds of the watch events of a profile, in order."""
    return list(events(profile).values_list("kind", flat=True))


def events(profile: Profile) -> Any:
    return WatchEvent.objects.filter(profile=profile).order_by("id")


def notice_kinds(endpoint: Endpoint) -> list[str]:
    return list(
        Notice.objects.filter(endpoint=endpoint).order_by("id").values_list("kind", flat=True)
    )


def active_modes(profile: Profile) -> set[str]:
    """The modes that are on, manual or automatic."""
    return set(ModeSwitch.objects.on().filter(profile=profile).values_list("mode", flat=True))


def the_incident(profile: Profile) -> Incident:
    return Incident.objects.get(profile=profile)


def is_replayed(profile: Profile) -> bool:
    """Whether replaying all runs and decisions gives the stored watch."""
    return detection.replay_watch(profile) == Watch.objects.state_of(profile)
