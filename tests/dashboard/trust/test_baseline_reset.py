"""Taking what an endpoint does now for normal."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from dashboard.core.errors import Refused
from dashboard.endpoints.services import endpoints
from dashboard.models import Endpoint, Incident, Run, Watch
from dashboard.trust import detection
from tests.dashboard.trust.builders import (
    CLOSURE,
    REFUSED,
    SOON,
    TAKEN,
    Past,
    events,
    is_replayed,
    on,
    the_incident,
    told,
)


def test_accepting_the_new_normal_ends_the_incident_and_learns_anew(past: Past, ann: User) -> None:
    """The runs since it opened are the baseline; a burst fills it up."""
    past.runs(6, REFUSED)
    profile = past.endpoint.profile

    detection.accept_baseline(profile, CLOSURE, by=ann, note="  The old model is gone. ")

    incident = the_incident(profile)
    act = events(profile).last()
    assert (incident.state, incident.ended_at) == ("accepted", act.at)
    assert (act.kind, act.by, act.note) == ("accepted", ann, "The old model is gone.")
    assert act.incident == incident
    assert act.figures["baseline"] == [0, 60, 6]
    assert act.figures["before"]["baseline"] == [10, 10, 1]
    assert on(profile) == set()
    endpoint = Endpoint.objects.get()
    assert (endpoint.next_trigger, endpoint.onboarding_left) == ("baseline", 20)
    assert is_replayed(profile)
    past.runs(3, REFUSED)
    assert Incident.objects.count() == 1
    assert is_replayed(profile)


def test_what_was_accepted_a_moment_ago_is_not_accepted_again(past: Past) -> None:
    """The second click would take runs for normal that were made before the incident."""
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


def test_runs_of_one_moment_count_once_in_the_new_normal(past: Past) -> None:
    """Twenty runs within a minute are no baseline, here as little as at the beginning."""
    past.run(REFUSED)
    past.runs(8, REFUSED, after=SOON / 60)

    detection.accept_baseline(past.endpoint.profile, CLOSURE, by=None, note="So be it.")

    # A minute and a half apart: every fourth.
    assert Watch.objects.state_of(past.endpoint.profile).gauge(CLOSURE).baseline.runs == 1 + 8 // 4


def test_accepting_without_an_incident_takes_the_latest_runs(past: Past) -> None:
    """An operator may know that something has changed for good, before any alarm."""
    past.runs(3, {CLOSURE: (9, 1)})

    detection.accept_baseline(past.endpoint.profile, CLOSURE, by=None, note="It is a cheaper plan.")

    baseline = Watch.objects.state_of(past.endpoint.profile).gauge(CLOSURE).baseline
    assert (baseline.runs, baseline.successes) == (4, 3 * 9 + 10)
    assert is_replayed(past.endpoint.profile)


def test_questions_of_an_older_suite_are_not_part_of_the_new_normal(past: Past) -> None:
    """They were harder or easier."""
    Run.objects.update(suite_version="older")
    past.runs(2, TAKEN)

    detection.accept_baseline(past.endpoint.profile, CLOSURE, by=None, note="So be it.")

    assert Watch.objects.state_of(past.endpoint.profile).gauge(CLOSURE).baseline.runs == 2


@pytest.mark.parametrize("note", ["", "   ", "\0"], ids=["empty", "blank", "nul"])
def test_nothing_is_accepted_or_released_without_a_reason(past: Past, note: str) -> None:
    """Others will want to know it."""
    past.run(REFUSED)
    profile = past.endpoint.profile

    with pytest.raises(Refused, match="Say why"):
        detection.accept_baseline(profile, CLOSURE, by=None, note=note)
    with pytest.raises(Refused, match="Say why"):
        detection.release_incident(the_incident(profile), by=None, note=note)

    assert the_incident(profile).state == "open"
    assert told(profile)[-1] == "opened"


def test_what_is_over_can_neither_be_accepted_nor_released(past: Past) -> None:
    """The page that somebody looks at may be an old one."""
    past.run(REFUSED)
    old, incident = past.endpoint.profile, the_incident(past.endpoint.profile)
    endpoints.update(past.endpoint, key=None, forget_key=False, model="n")

    with pytest.raises(Refused, match="superseded"):
        detection.accept_baseline(old, CLOSURE, by=None, note="So be it.")
    with pytest.raises(Refused, match="over"):
        detection.release_incident(incident, by=None, note="So be it.")
