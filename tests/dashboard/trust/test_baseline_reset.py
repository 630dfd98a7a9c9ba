"""Resetting a baseline to the current behaviour of an endpoint."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from dashboard.core.errors import Refused
from dashboard.endpoints.services import endpoints
from dashboard.models import Endpoint, Incident, Run, Watch
from dashboard.trust import detection
from tests.dashboard.trust.builders import (
    CLOSURE,
    NOT_REFUSED,
    REFUSED,
    SOON,
    Past,
    active_modes,
    event_kinds,
    events,
    is_replayed,
    the_incident,
)


def test_accepting_a_baseline_ends_the_incident_and_schedules_baseline_runs(
    past: Past, ann: User
) -> None:
    """The runs since the incident opened become the baseline, and a burst of runs completes it."""
    past.runs(6, REFUSED)
    profile = past.endpoint.profile

    detection.accept_baseline(profile, CLOSURE, by=ann, note="  The old model is gone. ")

    incident = the_incident(profile)
    event = events(profile).last()
    assert (incident.state, incident.ended_at) == ("accepted", event.at)
    assert (event.kind, event.by, event.note) == ("accepted", ann, "The old model is gone.")
    assert event.incident == incident
    assert event.figures["baseline"] == [0, 60, 6]
    assert event.figures["before"]["baseline"] == [10, 10, 1]
    assert active_modes(profile) == set()
    endpoint = Endpoint.objects.get()
    assert (endpoint.next_trigger, endpoint.onboarding_left) == ("baseline", 20)
    assert is_replayed(profile)
    past.runs(3, REFUSED)
    assert Incident.objects.count() == 1
    assert is_replayed(profile)


def test_a_baseline_is_not_accepted_twice_without_a_run_in_between(past: Past) -> None:
    """A second click would use runs from before the incident."""
    past.runs(3, REFUSED)
    profile = past.endpoint.profile
    detection.accept_baseline(profile, CLOSURE, by=None, note="So be it.")
    before = Watch.objects.state_of(profile)

    with pytest.raises(Refused, match="meanwhile"):
        detection.accept_baseline(profile, CLOSURE, by=None, note="Me too.")

    assert Watch.objects.state_of(profile) == before
    past.run(REFUSED)
    detection.accept_baseline(profile, CLOSURE, by=None, note="With one more run.")
    assert is_replayed(profile)


def test_runs_close_together_count_once_in_the_new_baseline(past: Past) -> None:
    """Twenty runs within a minute are no baseline, as for the first one."""
    past.run(REFUSED)
    past.runs(8, REFUSED, after=SOON / 60)

    detection.accept_baseline(past.endpoint.profile, CLOSURE, by=None, note="So be it.")

    # They are a minute and a half apart, so every fourth counts.
    assert Watch.objects.state_of(past.endpoint.profile).gauge(CLOSURE).baseline.runs == 1 + 8 // 4


def test_accepting_without_an_incident_uses_the_latest_runs(past: Past) -> None:
    """An operator may know of a permanent change before any alarm."""
    past.runs(3, {CLOSURE: (9, 1)})

    detection.accept_baseline(past.endpoint.profile, CLOSURE, by=None, note="It is a cheaper plan.")

    baseline = Watch.objects.state_of(past.endpoint.profile).gauge(CLOSURE).baseline
    assert (baseline.runs, baseline.successes) == (4, 3 * 9 + 10)
    assert is_replayed(past.endpoint.profile)


def test_runs_of_an_older_suite_are_not_part_of_the_new_baseline(past: Past) -> None:
    """Their probes may have been harder or easier."""
    Run.objects.update(suite_version="older")
    past.runs(2, NOT_REFUSED)

    detection.accept_baseline(past.endpoint.profile, CLOSURE, by=None, note="So be it.")

    assert Watch.objects.state_of(past.endpoint.profile).gauge(CLOSURE).baseline.runs == 2


@pytest.mark.parametrize("note", ["", "   ", "\0"], ids=["empty", "blank", "nul"])
def test_accepting_and_releasing_need_a_reason(past: Past, note: str) -> None:
    """Without one nothing changes."""
    past.run(REFUSED)
    profile = past.endpoint.profile

    with pytest.raises(Refused, match="Say why"):
        detection.accept_baseline(profile, CLOSURE, by=None, note=note)
    with pytest.raises(Refused, match="Say why"):
        detection.release_incident(the_incident(profile), by=None, note=note)

    assert the_incident(profile).state == "open"
    assert event_kinds(profile)[-1] == "opened"


def test_an_ended_incident_can_neither_be_accepted_nor_released(past: Past) -> None:
    """The page may have been opened before the incident ended."""
    past.run(REFUSED)
    old, incident = past.endpoint.profile, the_incident(past.endpoint.profile)
    endpoints.update(past.endpoint, key=None, forget_key=False, model="n")

    with pytest.raises(Refused, match="superseded"):
        detection.accept_baseline(old, CLOSURE, by=None, note="So be it.")
    with pytest.raises(Refused, match="over"):
        detection.release_incident(incident, by=None, note="So be it.")
