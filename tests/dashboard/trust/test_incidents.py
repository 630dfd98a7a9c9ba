"""The life of an incident: opened, escalated, released, eased, ended."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db.models.functions import Now

from dashboard.core.errors import Refused
from dashboard.endpoints.services import endpoints
from dashboard.models import (
    Endpoint,
    Incident,
    ModeSwitch,
    Notice,
    Run,
    RunMetric,
    Watch,
    WatchEvent,
)
from dashboard.trust import detection
from dashboard.trust.text import figure_sentences
from probes.outcomes import Metric
from tests.dashboard.trust.builders import (
    CLOSURE,
    DAY,
    HEALTHY,
    NOT_REFUSED,
    PARSE,
    REFUSED,
    REFUSING,
    SOON,
    Past,
    Trials,
    active_modes,
    event_kinds,
    events,
    finish_runs,
    is_replayed,
    notice_kinds,
    the_incident,
)
from tests.factories import make_finished_run

TEN: Trials = {PARSE: (10, 0)}
NINE: Trials = {PARSE: (9, 1)}
NONE: Trials = {PARSE: (0, 10)}
MILD = {"strong_validation", "no_streaming_tools"}
BAD = MILD | {"read_only_tools"}
WORST = BAD | {"no_tools"}


@pytest.fixture
def settled(endpoint: Endpoint) -> Past:
    """An endpoint with a frozen baseline of parse success."""
    past = Past(endpoint)
    past.runs(20, TEN)
    return past


def test_an_incident_goes_through_all_its_stages(settled: Past, ann: User) -> None:
    """Each step sets its modes and notice, and the watch can be replayed."""
    endpoint, profile = settled.endpoint, settled.endpoint.profile
    settled.runs(7, NINE)
    incident = the_incident(profile)
    steps = [(incident.state, incident.severity, active_modes(profile))]

    settled.runs(3, NONE)
    incident.refresh_from_db()
    steps.append((incident.state, incident.severity, active_modes(profile)))
    settled.runs(20, TEN, after=SOON)
    incident.refresh_from_db()
    assert incident.release_wanted
    detection.release_incident(incident, by=ann, note="The vendor told us what it was.")
    for _ in range(3):
        settled.run(TEN, after=SOON)
        incident.refresh_from_db()
        steps.append((incident.state, incident.severity, active_modes(profile)))

    assert steps == [
        ("open", 1, MILD),
        ("open", 3, WORST),
        ("open", 2, BAD),
        ("open", 1, MILD),
        ("recovered", 1, set()),
    ]
    assert event_kinds(profile) == [
        *("frozen", "warned", "opened", "escalated", "escalated"),
        *("release_wanted", "released", "eased", "eased", "recovered"),
    ]
    assert notice_kinds(endpoint) == [
        *("incident.opened", "incident.escalated", "incident.escalated", "decision.wanted"),
        *("mode.changed", "mode.changed", "incident.recovered"),
    ]
    assert (incident.worst, incident.ended_at, incident.release_wanted) == (3, settled.at, False)
    assert is_replayed(profile)


def test_incidents_of_simulated_history_have_the_times_of_that_history(past: Past) -> None:
    """The demo shows incidents where its story has them."""
    past.run(REFUSED)

    incident = the_incident(past.endpoint.profile)
    opened = Run.objects.latest("id")
    assert (incident.opened_at, incident.opened_by) == (past.at, opened.pk)
    assert set(incident.switches.values_list("on_at", flat=True)) == {past.at}
    assert set(incident.notices.values_list("at", flat=True)) == {past.at}
    assert events(incident.profile).last().at == past.at


def test_the_run_that_opened_an_incident_keeps_its_evidence(past: Past) -> None:
    """The evidence of an incident is kept longer than that of other runs."""
    past.run(REFUSED)

    (opened_by,) = Incident.objects.values_list("opened_by", flat=True)
    pinned = Run.objects.filter(pins__isnull=False)
    assert list(pinned.values_list("id", "pins__why")) == [(opened_by, "it opened an incident")]


def test_the_incident_and_its_modes_store_their_figures(settled: Past) -> None:
    """Cause, run and exact evidence are in the rows, as a sentence and as numbers."""
    settled.runs(2, NONE)

    incident = the_incident(settled.endpoint.profile)
    switch = incident.switches.first()
    assert detection.incident_headline(incident) == "Parse success fell from 100% to 0%"
    assert incident.figures["log_m"] >= incident.figures["log_a"]
    assert switch
    assert switch.figures["run"] == incident.opened_by
    assert switch.figures["log_m"] == incident.figures["log_m"]
    assert switch.reason == detection.incident_headline(incident)
    notice = Notice.objects.get()
    assert notice.body["title"].startswith("one: Parse success fell")
    assert set(notice.body["modes"]) == WORST


def test_a_headline_says_what_was_measured_since_the_change(endpoint: Endpoint) -> None:
    """A good full run before the change counts neither in the headline nor in the severity."""
    past = Past(endpoint)
    past.runs(20, {PARSE: (11, 0)})
    for trials in ((46, 0), (0, 11), (0, 46)):
        past.run({PARSE: trials})

    incident = the_incident(endpoint.profile)
    headline = "Parse success fell from 100% to 0%"
    sentences = figure_sentences(PARSE, incident.figures)
    assert (detection.incident_headline(incident), incident.severity) == (headline, 3)
    assert Notice.objects.get().body["title"] == f"one: {headline}"
    assert sentences[1] == (
        "57 of 57 trials of the last 2 runs went badly. Parse success: 0% on average per run."
    )
    assert is_replayed(endpoint.profile)


def test_a_headline_follows_an_incident_that_becomes_more_severe(settled: Past) -> None:
    """The notice of a collapse does not repeat the mild figure that it began with."""
    settled.runs(7, NINE)
    incident = the_incident(settled.endpoint.profile)
    assert detection.incident_headline(incident) == "Parse success fell from 100% to 90%"

    settled.runs(3, NONE)

    incident.refresh_from_db()
    headlines = [
        "Parse success fell from 100% to 60%; it is now of severity 2",
        "Parse success fell from 100% to 30%; it is now of severity 3",
    ]
    escalated = Notice.objects.filter(kind="incident.escalated").order_by("id")
    assert [notice.body["title"].removeprefix("one: ") for notice in escalated] == headlines
    assert detection.incident_headline(incident) == "Parse success fell from 100% to 30%"
    assert incident.figures["trials"] == 10
    assert incident.figures["rate"] == pytest.approx(0.9)


def test_an_outage_opens_nothing_and_switches_nothing(past: Past) -> None:
    """Runs with nothing but void attempts have no verdict, so the watch does not change."""
    before = Watch.objects.state_of(past.endpoint.profile)

    for _ in range(5):
        assert past.run(NOT_REFUSED, void=True).state == "failed"

    assert Watch.objects.state_of(past.endpoint.profile) == before
    assert not Incident.objects.exists()
    assert not ModeSwitch.objects.exists()
    assert not Notice.objects.exists()
    assert is_replayed(past.endpoint.profile)


def test_a_new_refusal_opens_an_incident_with_the_first_run(endpoint: Endpoint) -> None:
    """It needs neither a baseline nor a second run."""
    finish_runs(endpoint, HEALTHY, REFUSING)

    incident = the_incident(endpoint.profile)
    assert (incident.metric, incident.severity, incident.refused) == (CLOSURE.value, 3, True)
    assert active_modes(endpoint.profile) == {"no_parallel", "read_only_tools", "no_tools"}
    assert detection.incident_headline(incident) == "Closure errors rose from 0% to 100%"


def test_two_metrics_at_once_have_an_incident_each_and_share_modes(endpoint: Endpoint) -> None:
    """A mode stays on while any incident requires it."""
    past = Past(endpoint)
    past.runs(20, {PARSE: (10, 0), CLOSURE: (10, 0)})
    past.runs(3, {PARSE: (5, 5), CLOSURE: (5, 5)})

    severities = dict(Incident.objects.values_list("metric", "severity"))
    assert severities == {PARSE.value: 3, CLOSURE.value: 3}
    assert active_modes(endpoint.profile) == {*WORST, "no_parallel"}
    accepted = Metric.CLOSURE_ERROR
    detection.accept_baseline(endpoint.profile, accepted, by=None, note="We can live with it.")
    assert active_modes(endpoint.profile) == WORST
    assert is_replayed(endpoint.profile)


def test_another_key_ends_incidents_and_modes(past: Past) -> None:
    """Results under the old key say nothing about the new one."""
    past.run(REFUSED)
    old = past.endpoint.profile
    endpoints.update(past.endpoint, key=None, forget_key=False, model="n")

    assert the_incident(old).state == "superseded"
    assert (active_modes(old), active_modes(past.endpoint.profile)) == (set(), set())
    assert event_kinds(old)[-1] == "superseded"
    assert event_kinds(past.endpoint.profile) == []


def test_another_template_in_simulated_history_ends_them_at_its_time(endpoint: Endpoint) -> None:
    """A changed template in the demo is a key change like any other."""
    past = Past(endpoint)
    for trials in (NOT_REFUSED, REFUSED):
        past.run(trials, template="a" * 64)
    old = endpoint.profile

    past.run(REFUSED, template="b" * 64)

    incident = the_incident(old)
    assert (incident.state, incident.ended_at) == ("superseded", past.at)
    assert set(incident.switches.values_list("off_at", flat=True)) == {past.at}
    assert active_modes(endpoint.profile) == set()


def test_a_run_of_a_superseded_profile_changes_nothing(past: Past) -> None:
    """Results that a late worker has for the old key are ignored."""
    old = past.endpoint.profile
    before = Watch.objects.state_of(old)
    endpoints.update(past.endpoint, key=None, forget_key=False, model="n")
    old.refresh_from_db()
    run = make_finished_run(past.endpoint, profile=old, key_epoch=old.epoch)
    RunMetric.objects.filter(run=run).delete()
    refused = RunMetric(run=run, profile=old, metric=CLOSURE.value, trials=10, failures=10)
    refused.watched_trials = refused.watched_failures = refused.refused = 10
    refused.finished_at = past.at
    refused.save(force_insert=True)

    assert detection.follow_run(run, old) == before
    assert not Incident.objects.exists()


def test_another_suite_version_ends_incidents_and_starts_a_new_watch(past: Past) -> None:
    """Other probes are not comparable, and no notice claims a recovery."""
    past.run(REFUSED)
    profile = past.endpoint.profile
    run = Run.objects.latest("id")
    later = Run.objects.create(
        **{
            field: getattr(run, field)
            for field in (
                "endpoint",
                "profile",
                "provider",
                "key_epoch",
                "suite",
                "seed",
                "planned",
            )
        },
        trigger="ttl",
        due_at=past.at + DAY,
        suite_version="another",
        state="finished",
        finished_at=past.at + DAY,
        every=run.every,
    )

    watch = detection.follow_run(later, profile)

    assert (watch.suite_version, watch.runs, watch.alarms) == ("another", 1, {})
    assert the_incident(profile).state == "superseded"
    assert active_modes(profile) == set()
    assert notice_kinds(past.endpoint) == ["incident.opened"]
    assert is_replayed(profile)


def test_an_incident_is_acknowledged_once(past: Past, ann: User) -> None:
    """The first person is recorded; nothing else changes."""
    past.run(REFUSED)
    profile = past.endpoint.profile
    before = Watch.objects.state_of(profile)
    incident = the_incident(profile)

    assert detection.acknowledge_incident(incident, by=ann, note=" looking ")
    assert not detection.acknowledge_incident(incident, by=None)

    incident.refresh_from_db()
    assert incident.acknowledged_by == ann
    assert incident.state == "open"
    acts = WatchEvent.objects.filter(kind="acknowledged")
    assert [(act.by, act.note) for act in acts] == [(ann, "looking")]
    assert Watch.objects.state_of(profile) == before
    assert is_replayed(profile)


def test_a_release_makes_the_endpoint_due_at_once(past: Past) -> None:
    """An approver is waiting for the outcome."""
    past.run(REFUSED)
    incident = the_incident(past.endpoint.profile)

    detection.release_incident(incident, by=None, note="It is mended.")

    assert Endpoint.objects.get(next_due_at__lte=Now()).next_trigger == "recovery"
    assert is_replayed(incident.profile)


def test_an_incident_that_fails_again_awaits_release_no_longer(settled: Past) -> None:
    """The row, the timeline and a notice say so, and it awaits release again once it recovers."""
    profile = settled.endpoint.profile
    settled.runs(2, NONE)
    settled.runs(20, TEN, after=SOON)
    offered = the_incident(profile).release_wanted

    settled.runs(3, NONE, after=SOON)
    withdrawn = the_incident(profile).release_wanted
    settled.runs(12, TEN, after=SOON)

    assert (offered, withdrawn, the_incident(profile).release_wanted) == (True, False, True)
    assert event_kinds(profile)[-3:] == ["release_wanted", "release_withdrawn", "release_wanted"]
    notices = Notice.objects.filter(kind="decision.wanted").order_by("id")
    headline = "one: Parse success fell from 100% to 0%;"
    assert [notice.body["title"] for notice in notices] == [
        f"{headline} it has recovered and awaits release",
        f"{headline} later runs were bad, so it no longer awaits release",
        f"{headline} it has recovered and awaits release",
    ]
    assert [notice.body["release_wanted"] for notice in notices] == [True, False, True]
    assert active_modes(profile) == WORST
    assert is_replayed(profile)


def test_a_release_that_came_too_late_releases_nothing(settled: Past) -> None:
    """An approver who still sees the offer on an old page is refused."""
    settled.runs(2, NONE)
    settled.runs(20, TEN, after=SOON)
    settled.run(NONE, after=SOON)
    incident = the_incident(settled.endpoint.profile)

    with pytest.raises(Refused, match="no longer recovered"):
        detection.release_incident(incident, by=None, note="It is mended.", is_offered=True)

    assert "released" not in event_kinds(incident.profile)


def test_a_release_is_void_once_the_endpoint_fails_again(settled: Past) -> None:
    """Tools stay off, and the release has to be given anew."""
    profile = settled.endpoint.profile
    settled.runs(2, NONE)
    settled.runs(20, TEN, after=SOON)
    detection.release_incident(the_incident(profile), by=None, note="It is mended.")

    settled.run(NONE, after=SOON)
    settled.runs(20, TEN, after=SOON)

    assert the_incident(profile).release_wanted
    assert active_modes(profile) == WORST
    assert is_replayed(profile)


def test_an_incident_of_a_relapse_is_another_one(settled: Past) -> None:
    """Each has its own start and end, and the second has a longer minimum duration."""
    settled.runs(8, NINE)
    settled.runs(17, TEN, after=SOON)
    settled.runs(8, NINE)

    states = list(Incident.objects.order_by("id").values_list("state", flat=True))
    alarm = Watch.objects.state_of(settled.endpoint.profile).gauge(PARSE).alarm
    assert states == ["recovered", "open"]
    assert alarm
    assert (alarm.relapses, alarm.dwell) == (1, 2 * DAY)
    assert is_replayed(settled.endpoint.profile)


def test_removing_an_endpoint_ends_its_incidents(past: Past) -> None:
    """An incident of a removed endpoint could never recover."""
    past.run(REFUSED)
    profile = past.endpoint.profile

    endpoints.remove(past.endpoint)

    assert the_incident(profile).state == "superseded"
    assert active_modes(profile) == set()
