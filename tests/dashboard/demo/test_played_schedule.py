"""The simulated schedule follows the real rules and detects the same events."""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from itertools import pairwise

import pytest
from django.conf import settings

from dashboard.demo.player import SimulatedRun
from dashboard.demo.player_schedule import (
    BASELINE_RUNS,
    MAX_VALUES,
    WAITS,
    SimulatedSchedule,
)
from dashboard.demo.services import history
from dashboard.endpoints.services import endpoints
from dashboard.models import Endpoint, WatchEvent
from dashboard.trust import profiles
from health.cadence import WaitTimes
from probes.target import Provider
from tests.dashboard.demo.story_player import FLEET, play_days

# The days to play, and the events that must occur at least.
EXPECTED_EVENTS = {
    "demo-fading": ((4.5, 10.5), ("frozen", "warned", "opened")),
    "demo-relay": ((9.8, 10.8), ("frozen", "opened")),
    "demo-flapping": ((0, 0.3), ("warned", "frozen")),
    "demo-llamacpp": ((6.8, 7.4), ("frozen",)),
}


def test_the_wait_times_are_those_of_the_settings() -> None:
    """The constants equal the defaults of the settings."""
    assert BASELINE_RUNS == settings.BASELINE_RUNS
    assert WaitTimes(settings.BASELINE_EVERY, settings.CONFIRM_AFTER) == WAITS
    assert MAX_VALUES == profiles.MAX_VALUES


def test_a_warning_is_confirmed_and_an_incident_followed_up() -> None:
    """Full runs follow at intervals of six minutes, then light ones more often."""
    runs = _play("demo-fading")
    triggers = [run.trigger for run in runs]
    first = triggers.index("confirm")

    assert 1 <= triggers.count("confirm") <= 4
    assert set(triggers[20:first]) == {"ttl"}
    assert triggers[-1] == "recovery"
    gaps = [(run.trigger, run.at - before.at - before.took) for before, run in pairwise(runs)]
    confirms = [gap for trigger, gap in gaps if trigger == "confirm"]
    assert all(timedelta(minutes=5) <= gap <= timedelta(minutes=7) for gap in confirms)
    recoveries = [gap for trigger, gap in gaps if trigger == "recovery"]
    assert all(timedelta(hours=7.2) <= gap <= timedelta(hours=8.8) for gap in recoveries)
    assert {run.suite for run in runs if run.trigger == "confirm"} == {"full"}
    assert {run.suite for run in runs if run.trigger == "recovery"} == {"light"}


def test_a_changed_fingerprint_triggers_a_full_run() -> None:
    """The re-routed relay has another fingerprint, and a full run follows at once."""
    runs = _play("demo-relay")
    triggers = [run.trigger for run in runs]
    number = triggers.index("fingerprint")

    assert triggers.count("fingerprint") == 1
    assert runs[number].suite == "full"
    assert runs[number].at == runs[number - 1].at + runs[number - 1].took


@pytest.mark.django_db
@pytest.mark.parametrize("slug", EXPECTED_EVENTS)
def test_the_database_records_the_events_of_the_player(slug: str) -> None:
    """Player and database have the same events after the same runs."""
    member = FLEET[slug]
    endpoint = _register(slug)
    schedule, events = SimulatedSchedule(Provider(member.provider), member.every), []
    is_fingerprint_due = False

    for run in _play(slug):
        stored = history.store_simulated_run(endpoint, run)
        assert schedule.next_trigger(run.engine) == run.trigger
        assert (run.trigger == "fingerprint") == is_fingerprint_due
        is_fingerprint_due = stored.fingerprint_changed and run.suite == "light"
        schedule.record_run(run.attempts, run.suite, ended=run.at + run.took)
        events += [(stored.pk, c.kind, c.metric, c.severity) for c in schedule.changes]

    stored_events = WatchEvent.objects.order_by("id")
    assert list(stored_events.values_list("after", "kind", "metric", "severity")) == events
    assert {kind for _, kind, _, _ in events} >= set(EXPECTED_EVENTS[slug][1])


@cache
def _play(slug: str) -> list[SimulatedRun]:
    return play_days(slug, days=EXPECTED_EVENTS[slug][0])


def _register(slug: str) -> Endpoint:
    member = FLEET[slug]
    return endpoints.create(
        slug=slug,
        provider=member.provider,
        base_url=member.base_url,
        model=member.model,
        options={},
        ttl=timedelta(minutes=10),
        max_concurrency=1,
        enabled=True,
        key=None,
        onboarding_runs=0,
    )
