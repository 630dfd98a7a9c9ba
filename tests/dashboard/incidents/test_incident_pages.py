from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from dashboard.models import Incident, Run, WatchEvent
from dashboard.models.people import Role
from dashboard.models.watch import ACCEPTED
from dashboard.trust import modes
from health.detector import Baseline, BaselineState
from probes.outcomes import Metric
from tests.dashboard.incidents.builders import degrade, freeze_baseline, watch_run
from tests.factories import make_attempt, make_endpoint, make_person
from tests.markup import assert_contains, assert_not_contains

# Session, person, their roles, count, incidents with their endpoints, names for the filter.
QUERIES = 6


@pytest.fixture
def administrator(client: Client, db: None) -> Client:
    client.force_login(User.objects.create_superuser("root"))
    return client


def test_an_empty_list_says_so(signed_in: Client) -> None:
    """It explains what will appear there."""
    assert_contains(signed_in.get("/incidents/"), "None was ever opened")


def test_the_list_shows_headline_and_endpoint(signed_in: Client) -> None:
    """The title says what fell from where to where, and the severity is a word."""
    incident = degrade(make_endpoint(slug="fallen"))

    page = signed_in.get("/incidents/")

    assert_contains(page, "Parse success fell from 100% to")
    assert_contains(page, "fallen")
    assert_contains(page, "S3 severe")
    assert_contains(page, f'href="/incidents/{incident.pk}/"')


def test_open_incidents_come_before_newer_ones_that_ended(signed_in: Client) -> None:
    """What needs attention is on top."""
    old, new = degrade(make_endpoint(slug="still-open")), degrade(make_endpoint(slug="long-over"))
    Incident.objects.filter(pk=old.pk).update(opened_at=timezone.now() - timedelta(days=9))
    Incident.objects.filter(pk=new.pk).update(state="recovered", ended_at=timezone.now())

    table = signed_in.get("/incidents/").content.decode().split("<tbody")[1]

    assert table.index("still-open") < table.index("long-over")


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("state=open", 1),
        ("state=recovered", 0),
        ("severity=3", 1),
        ("severity=1", 0),
        ("endpoint=steady", 1),
        ("endpoint=other", 0),
        ("metric=parse_success", 1),
        ("metric=closure_error", 0),
        ("state=past", 0),
        ("state=nonsense&severity=9", 1),
    ],
)
def test_filters_are_in_the_query_string(signed_in: Client, query: str, count: int) -> None:
    """A filtered list can be linked to; an invalid filter is ignored."""
    degrade(make_endpoint())

    page = signed_in.get(f"/incidents/?{query}")

    assert_contains(page, 'class="row-link"', count=count)


def test_a_long_list_has_pages_that_keep_the_filter(
    signed_in: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paging does not lose the filter."""
    monkeypatch.setattr("dashboard.incidents.queries.PAGE_SIZE", 1)
    degrade(make_endpoint(slug="one"))
    degrade(make_endpoint(slug="two"))

    page = signed_in.get("/incidents/?state=open")

    assert_contains(page, 'href="?state=open&amp;page=2"')


@pytest.mark.parametrize("count", [1, 30])
def test_queries_do_not_grow_with_the_list(
    signed_in: Client, django_assert_num_queries: DjangoAssertNumQueries, count: int
) -> None:
    """Thirty incidents cost as many queries as one."""
    first = degrade(make_endpoint())
    fields = ["profile_id", "metric", "lane", "severity", "worst", "figures", "opened_at"]
    same = {name: getattr(first, name) for name in fields}
    over = {"state": "recovered", "ended_at": timezone.now()}
    Incident.objects.bulk_create(
        Incident(opened_by=10**6 + number, **same, **over) for number in range(count - 1)
    )

    with django_assert_num_queries(QUERIES):
        signed_in.get("/incidents/")


def test_a_title_has_the_day_of_the_incident(signed_in: Client) -> None:
    """The list and the page say what fell, from where to where, and on which day."""
    incident = degrade(make_endpoint())
    Incident.objects.filter(pk=incident.pk).update(opened_at=datetime(2025, 11, 3, tzinfo=UTC))

    for path in ("/incidents/", f"/incidents/{incident.pk}/"):
        assert_contains(signed_in.get(path), "Parse success fell from 100% to 0% on 3 Nov 2025")


def test_evidence_lists_failed_attempts_of_the_runs_that_raised_it(
    signed_in: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    """Attempts of the metric are links, and the text of findings is escaped."""
    incident = degrade(make_endpoint())
    run = Run.objects.get(pk=incident.opened_by)
    finding = {"kind": "no_call", "message": "<b>prose</b>\u202e", "path": ""}
    failed: dict[str, Any] = {"outcome": "fail", "findings": [finding]}
    for trial in range(1, 43):
        make_attempt(run, trial=trial, verdicts=[["parse_success", False]], **failed)
    make_attempt(run, probe="closure", verdicts=[["closure_error", False]], **failed)

    with django_assert_max_num_queries(15):
        page = signed_in.get(f"/incidents/{incident.pk}/")

    assert_contains(page, f'href="/runs/{run.pk}/attempts/format/1/"')
    assert_contains(page, "&lt;b&gt;prose&lt;/b&gt;⟦U+202E⟧", count=1)
    assert_contains(page, "40 ×")
    assert_contains(page, "There are more")
    assert_not_contains(page, "attempts/closure/")


def test_the_timeline_has_warning_opening_modes_and_runs(signed_in: Client) -> None:
    """Every step is shown with its figures, in order of time, and the runs are links."""
    incident = degrade(make_endpoint())
    watch_run(incident.profile.endpoint, 0, at=timezone.now(), trigger="recovery")

    page = signed_in.get(f"/incidents/{incident.pk}/")

    text = page.content.decode()
    events = ["The sums warn", "<b>Opened</b>", "Switched on:"]
    steps = ["1 run: to confirm a warning", *events, "1 run: to prove a recovery"]
    assert [text.index(step) for step in steps] == sorted(text.index(step) for step in steps)
    assert_contains(page, "10 of 10 trials of the run went badly.")
    assert_contains(page, "baseline of 200 of 200 (100%) in 20 runs")
    assert_contains(page, f'href="/runs/{incident.opened_by}/"')
    assert_contains(page, ">0/10</a>")
    assert_contains(page, ">10/10</a>")


def test_a_warning_that_calmed_down_is_not_part_of_a_later_incident(signed_in: Client) -> None:
    """Only a warning that led to the incident is shown; a refusal needs none."""
    endpoint = make_endpoint()
    at = freeze_baseline(endpoint)
    watch_run(endpoint, 10, at=at)
    for hours in range(1, 8):
        watch_run(endpoint, 0, at=at + timedelta(hours=hours))
    assert WatchEvent.objects.filter(kind="calmed").exists()
    watch_run(endpoint, 10, at=at + timedelta(hours=10), refused=10)

    page = signed_in.get(f"/incidents/{Incident.objects.get().pk}/")

    assert_not_contains(page, "The sums warn")
    assert_contains(page, "10 of 10 trials of the run were refused.")


def test_a_mode_that_a_person_switched_off_is_shown_with_the_reason(signed_in: Client) -> None:
    """Who switched an automatic mode off, and why, is part of the timeline."""
    incident = degrade(make_endpoint())
    switch = incident.switches.get(mode="no_tools")
    bob = make_person("bob", Role.APPROVER)
    modes.switch_off(switch, by=bob, reason="<b>we need it</b>")

    page = signed_in.get(f"/incidents/{incident.pk}/")

    assert_contains(page, "Switched off: no_tools")
    assert_contains(page, "by bob")
    assert_contains(page, "&lt;b&gt;we need it&lt;/b&gt;")


def test_acknowledging_stores_person_and_note(signed_in: Client) -> None:
    """A second person reads who was first, and that note is not stored."""
    incident = degrade(make_endpoint())
    url = f"/incidents/{incident.pk}/acknowledge/"

    first = signed_in.post(url, {"note": "I look at it"}, follow=True)
    second = signed_in.post(url, {"note": "me too"}, follow=True)

    assert_contains(first, "I look at it")
    assert_contains(first, "by alice")
    assert_contains(second, "alice had acknowledged it before")
    assert_not_contains(second, "me too")


def test_release_needs_the_right_to_decide(signed_in: Client) -> None:
    """A person without it is refused, and sees no form."""
    incident = degrade(make_endpoint())
    Incident.objects.filter(pk=incident.pk).update(release_wanted=True)

    page = signed_in.get(f"/incidents/{incident.pk}/")
    answer = signed_in.post(f"/incidents/{incident.pk}/release/", {"reason": "please"})

    assert_contains(page, "Needs release")
    assert_not_contains(page, "Allow it to be left")
    assert answer.status_code == 403
    assert not WatchEvent.objects.filter(kind="released").exists()


def test_an_administrator_releases_with_a_reason(administrator: Client) -> None:
    """Without a reason nothing happens; with one the release is in the timeline."""
    incident = degrade(make_endpoint())
    Incident.objects.filter(pk=incident.pk).update(release_wanted=True)
    url = f"/incidents/{incident.pk}/release/"

    without = administrator.post(url, {"reason": " "}, follow=True)
    released = administrator.post(url, {"reason": "the vendor fixed it"}, follow=True)

    assert_contains(without, "Say why")
    assert_contains(released, "Leaving was allowed")
    assert_contains(released, "the vendor fixed it")


def test_a_recovery_that_was_lost_is_offered_nowhere(administrator: Client) -> None:
    """Pages, the fleet's decisions and the API follow the last run, not the first good ones."""
    endpoint = make_endpoint()
    incident = degrade(endpoint)
    at = incident.opened_at
    for hours in range(30):
        watch_run(endpoint, 0, at=at + timedelta(hours=hours + 1), trigger="recovery")
    offered = administrator.get(f"/incidents/{incident.pk}/")

    watch_run(endpoint, 10, at=at + timedelta(hours=40), trigger="recovery")

    page = administrator.get(f"/incidents/{incident.pk}/")
    assert_contains(offered, 'id="release"')
    assert_not_contains(page, 'id="release"')
    assert_contains(page, "Recovery lost: later runs were bad")
    assert_not_contains(administrator.get("/endpoints/steady/"), "Needs release")
    assert_not_contains(administrator.get("/"), "Release its fallback modes?")
    late = administrator.post(
        f"/incidents/{incident.pk}/release/", {"reason": "it is fixed"}, follow=True
    )
    assert_contains(late, "It is no longer recovered")


def test_accepting_shows_both_baselines_and_stores_the_one_shown(administrator: Client) -> None:
    """The page counts exactly the runs that the service then uses for the baseline."""
    endpoint = make_endpoint()
    incident = degrade(endpoint, failures=5, runs=4)
    url = "/endpoints/steady/accept/parse_success/"

    page = administrator.get(url)
    answer = administrator.post(url, {"reason": "a smaller model"}, follow=True)

    accepted = WatchEvent.objects.get(kind=ACCEPTED).figures["baseline"]
    overall, runs = page.context["new_baseline"].overall, page.context["new_baseline"].runs
    assert accepted == [overall.count, overall.trials, len(runs)]
    assert_contains(page, "200/200")
    assert_contains(page, f"{overall.count}/{overall.trials}")
    assert_contains(answer, "new normal")
    incident.refresh_from_db()
    assert incident.state == Incident.State.ACCEPTED


def test_accepting_needs_a_reason(administrator: Client) -> None:
    """Without one the incident stays open."""
    incident = degrade(make_endpoint())

    page = administrator.post("/endpoints/steady/accept/parse_success/", {"reason": ""})

    assert_contains(page, "Say why")
    incident.refresh_from_db()
    assert incident.state == Incident.State.OPEN


@pytest.mark.parametrize("metric", ["availability", "nonsense"])
def test_only_watched_metrics_can_be_accepted(administrator: Client, metric: str) -> None:
    """A metric without a baseline has no page."""
    make_endpoint()

    assert administrator.get(f"/endpoints/steady/accept/{metric}/").status_code == 404


def test_accepting_needs_the_right_to_decide(signed_in: Client) -> None:
    """Without it the link is hidden and the page refused."""
    degrade(make_endpoint())

    assert_not_contains(signed_in.get("/endpoints/steady/"), "New normal…")
    assert signed_in.get("/endpoints/steady/accept/parse_success/").status_code == 403


def test_an_unknown_incident_is_not_found(signed_in: Client) -> None:
    """An id that does not exist is a 404."""
    assert signed_in.get("/incidents/999999/").status_code == 404


@pytest.mark.parametrize("path", ["/incidents/", "/incidents/1/", "/settings/maintenance/"])
def test_anonymous_is_sent_to_the_login(client: Client, db: None, path: str) -> None:
    """Pages of incidents require signing in."""
    assert client.get(path).headers["Location"].startswith("/login/")


def test_the_endpoint_page_links_to_its_open_incident(administrator: Client) -> None:
    """The top of the page says what fell, how bad it is, and that a decision is needed."""
    incident = degrade(make_endpoint())
    Incident.objects.filter(pk=incident.pk).update(release_wanted=True)

    page = administrator.get("/endpoints/steady/")

    assert_contains(page, f'href="/incidents/{incident.pk}/#release"')
    assert_contains(page, "Parse success fell from 100% to")


def test_the_watch_table_shows_baseline_and_detectable_drop(signed_in: Client) -> None:
    """It has the baseline, the reference, the alarm level and the smallest detectable drop."""
    endpoint = make_endpoint()
    freeze_baseline(endpoint)

    page = signed_in.get("/endpoints/steady/")

    rows = {row.metric: row for row in page.context["watched"].rows}
    known = rows[Metric.PARSE_SUCCESS]
    assert (known.known, known.runs) == (BaselineState.FROZEN, 20)
    assert known.reference == pytest.approx(Baseline(200, 200, 20).reference())
    assert known.alarm_at == pytest.approx(10.177, abs=0.001)
    assert known.detectable.startswith("a drop of ")
    assert page.context["watched"].within == "10 runs (2 d)"
    assert rows[Metric.CLOSURE_ERROR].detectable == ""
    assert_contains(page, "200/200")
