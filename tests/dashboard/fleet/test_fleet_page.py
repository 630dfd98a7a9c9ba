from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from dashboard.fleet import queries as fleet
from dashboard.models import Endpoint, Incident, ModeSwitch, Profile, Run, RunMetric, Watch
from health.modes import EFFECTS, Mode
from health.severity import Severity
from tests.dashboard.incidents.builders import degrade, freeze_baseline, watch_run
from tests.factories import make_attempt, make_endpoint, make_finished_run, make_run
from tests.markup import assert_contains, assert_not_contains

# Session, user, roles, all endpoints with their status, cells, edits of endpoints since a file
# set them, open incidents, decisions, number of simulated endpoints.
QUERIES = 9


def test_an_empty_fleet_says_how_to_begin(signed_in: Client) -> None:
    """Without endpoints the page links to the form."""
    page = signed_in.get("/")

    assert_contains(page, "The first verdict takes a minute")
    assert_contains(page, 'href="/endpoints/new/"')


def test_a_row_shows_the_rate_with_its_figures(signed_in: Client) -> None:
    """A rate always has its numerator, denominator and interval."""
    make_finished_run(make_endpoint(slug="leaky"), passed=7, failed=3)

    page = signed_in.get("/")

    assert_contains(page, "<b>70%</b> 7/10")
    assert_contains(page, "Parse success: 70% (7 of 10, 95 % interval 39% to 90%), degraded.")
    assert_contains(page, '<span class="status degraded">')


def test_a_simulated_endpoint_is_labelled(signed_in: Client, settings: Any) -> None:
    """The figures of a demo cannot be mistaken for those of a model."""
    settings.SIMULATOR_URL = "http://127.0.0.1:9"
    make_endpoint(slug="played", base_url="http://127.0.0.1:9/v1")

    assert_contains(signed_in.get("/"), 'class="tag simulated"', count=1)


def test_a_run_without_a_verdict_is_no_data(signed_in: Client) -> None:
    """A void run is shown as no verdict, not as 0 %."""
    make_finished_run(make_endpoint(), passed=0, void=5)

    page = signed_in.get("/")

    assert_contains(page, "no verdict")
    assert_contains(page, "no data")
    assert_not_contains(page, "0%")


def test_a_running_run_shows_its_progress(signed_in: Client) -> None:
    """The row of an endpoint that is being probed has a progress bar."""
    make_attempt(make_run(make_endpoint()))

    page = signed_in.get("/")

    assert_contains(page, '<progress max="5" value="1"')


def test_worst_comes_first(signed_in: Client) -> None:
    """A failing endpoint is above a healthy one, whatever their names."""
    make_finished_run(make_endpoint(slug="a-good"))
    make_finished_run(make_endpoint(slug="z-bad"), passed=0, failed=5)

    text = signed_in.get("/").content.decode()

    assert text.index("z-bad") < text.index("a-good")


def test_a_row_shows_open_incidents_and_modes(signed_in: Client) -> None:
    """The row has the open incidents and the modes, with the effect of each mode."""
    degrade(make_endpoint(slug="fallen"))

    page = signed_in.get("/")

    assert_contains(page, "1 incident, S3")
    assert_contains(page, f'title="{EFFECTS[Mode.NO_TOOLS]}"')
    assert_contains(page, '<span class="status failing">')


def test_one_bad_run_keeps_an_endpoint_with_a_baseline_healthy(signed_in: Client) -> None:
    """With a baseline the watch decides, not the last run."""
    endpoint = make_endpoint()
    watch_run(
        endpoint, 6, at=freeze_baseline(endpoint, before=timezone.now() - timedelta(minutes=5))
    )

    summary = fleet.read_fleet(timezone.now(), None).summaries[0]

    assert summary.status.value == "healthy"
    assert summary.rate is not None
    assert summary.rate.value == 0.4


def test_an_endpoint_that_was_never_good_is_below_the_gate(signed_in: Client) -> None:
    """The row distinguishes a rate below the absolute gate from an incident."""
    endpoint = make_endpoint()
    for minutes in range(60, 0, -15):
        watch_run(endpoint, 10, at=timezone.now() - timedelta(minutes=minutes))

    page = signed_in.get("/")

    assert_contains(page, "below the gate")
    assert_contains(page, '<span class="status failing">')


def test_prometheus_reads_incidents_and_modes(signed_in: Client) -> None:
    """Custom alerts can use open incidents and active modes."""
    degrade(make_endpoint(slug="fallen"))

    page = signed_in.get("/metrics")

    line = f'toolgauge_incidents_open{{endpoint="fallen",severity="{Severity.S3.value}"}} 1.0'
    assert_contains(page, line)
    assert_contains(page, 'toolgauge_mode_on{endpoint="fallen",mode="no_tools"} 1.0')


@pytest.mark.parametrize("path", ["/", "/fleet/rows/", "/endpoints/new/"])
def test_anonymous_is_sent_to_the_login(client: Client, db: None, path: str) -> None:
    """The fleet needs a sign-in."""
    response = client.get(path)

    assert response.status_code == 302
    assert response.headers["Location"].startswith("/login/")


@pytest.mark.parametrize("count", [2, 60])
def test_queries_do_not_grow_with_the_fleet(
    signed_in: Client, django_assert_num_queries: DjangoAssertNumQueries, count: int
) -> None:
    """Sixty endpoints need as many queries as two, each with a watch, an incident and a mode."""
    _make_many(count)
    _give_each_a_watch()

    with django_assert_num_queries(QUERIES):
        page = signed_in.get("/")

    assert_contains(page, f"<b>{count}</b> endpoint")


def _make_many(count: int) -> None:
    first = make_endpoint(slug="e-0")
    profile, at = first.profile, timezone.now() - timedelta(minutes=1)
    plain = {"provider": "openai", "base_url": "http://127.0.0.1:9/v1", "model": "m"}
    endpoints = Endpoint.objects.bulk_create(
        Endpoint(slug=f"e-{i}", **plain) for i in range(1, count)
    )
    Profile.objects.bulk_create(
        Profile(endpoint=e, epoch=1, key_hash=bytes(profile.key_hash)) for e in endpoints
    )
    shape = make_finished_run(first)
    values = {"key_epoch": 1, "trigger": "ttl", "due_at": at, "suite": "light", "seed": 1}
    runs = Run.objects.bulk_create(
        Run(
            endpoint=e, profile=shape.profile, planned=5, state="finished", finished_at=at, **values
        )
        for e in endpoints
    )
    RunMetric.objects.bulk_create(
        RunMetric(
            run=r,
            profile=shape.profile,
            metric="parse_success",
            trials=5,
            failures=0,
            finished_at=at,
        )
        for r in runs
    )


def _give_each_a_watch() -> None:
    """Write what the detector would have recorded for each endpoint."""
    first = Profile.objects.get(endpoint__slug="e-0")
    incident = degrade(first.endpoint)
    state = Watch.objects.get(profile=first).state
    others = list(Profile.objects.exclude(pk=first.pk))
    values = {"metric": incident.metric, "severity": 3, "worst": 3, "figures": incident.figures}
    opening = {"opened_at": incident.opened_at, "opened_by": incident.opened_by}
    Watch.objects.bulk_create(Watch(profile=profile, state=state) for profile in others)
    opened = Incident.objects.bulk_create(Incident(profile=p, **values, **opening) for p in others)
    ModeSwitch.objects.bulk_create(
        ModeSwitch(profile_id=each.profile_id, incident=each, mode="no_tools", reason="fell")
        for each in opened
    )
