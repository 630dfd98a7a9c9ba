from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from pytest_django.asserts import assertContains, assertNotContains

from dashboard import fleet
from dashboard.models import Endpoint, Profile, Run, RunMetric
from tests.factories import make_attempt, make_endpoint, make_finished_run, make_run

# Session, person, active runs, endpoints with their last run, bars of the page.
QUERIES = 5


def test_an_empty_fleet_says_how_to_begin(signed_in: Client) -> None:
    """With no endpoint the page leads to the form."""
    page = signed_in.get("/")

    assertContains(page, "No endpoints yet")
    assertContains(page, 'href="/endpoints/new/"')


def test_a_row_shows_the_rate_with_its_numbers(signed_in: Client) -> None:
    """A rate never stands without numerator, denominator and interval."""
    make_finished_run(make_endpoint(slug="leaky"), passed=7, failed=3)

    page = signed_in.get("/")

    assertContains(page, "7/10")
    assertContains(page, "39%–89%")
    assertContains(page, '<span class="status degraded">')


def test_a_run_without_a_verdict_is_no_data(signed_in: Client) -> None:
    """A void run is shown as no verdict and never as 0 %."""
    make_finished_run(make_endpoint(), passed=0, void=5)

    page = signed_in.get("/")

    assertContains(page, "no verdict")
    assertContains(page, "no data")
    assertNotContains(page, "0%")


def test_a_run_under_way_shows_how_far_it_is(signed_in: Client) -> None:
    """The row of an endpoint that is being probed carries a progress bar."""
    make_attempt(make_run(make_endpoint()))

    page = signed_in.get("/")

    assertContains(page, '<progress max="5" value="1"')


def test_rows_come_as_a_part_only_when_something_changed(signed_in: Client) -> None:
    """The poll gets 204 until a run ends, then the part without the page around it."""
    endpoint = make_endpoint()
    seen = fleet.read(timezone.now()).digest

    before = signed_in.get("/fleet/rows/", {"seen": seen})
    make_finished_run(endpoint)
    after = signed_in.get("/fleet/rows/", {"seen": seen})

    assert before.status_code == 204
    assertContains(after, 'id="fleet"')
    assertNotContains(after, "<html")


def test_worst_comes_first(signed_in: Client) -> None:
    """A failing endpoint stands above a healthy one, whatever their names."""
    make_finished_run(make_endpoint(slug="a-good"))
    make_finished_run(make_endpoint(slug="z-bad"), passed=0, failed=5)

    text = signed_in.get("/").content.decode()

    assert text.index("z-bad") < text.index("a-good")


@pytest.mark.parametrize("path", ["/", "/fleet/rows/", "/endpoints/new/"])
def test_anonymous_is_sent_to_the_login(client: Client, db: None, path: str) -> None:
    """Nobody sees the fleet without signing in."""
    answer = client.get(path)

    assert answer.status_code == 302
    assert answer.headers["Location"].startswith("/login/")


@pytest.mark.parametrize("count", [1, 1000])
def test_queries_do_not_grow_with_the_fleet(
    signed_in: Client, django_assert_num_queries: DjangoAssertNumQueries, count: int
) -> None:
    """A thousand endpoints cost as many queries as one."""
    _make_many(count)

    with django_assert_num_queries(QUERIES):
        page = signed_in.get("/")

    assertContains(page, f"<b>{count}</b> endpoint")


def _make_many(count: int) -> None:
    first = make_endpoint(slug="e-0")
    profile, at = first.profile, timezone.now() - timedelta(minutes=1)
    plain = {"provider": "openai", "base_url": "http://127.0.0.1:9/v1", "model": "m"}
    made = Endpoint.objects.bulk_create(Endpoint(slug=f"e-{i}", **plain) for i in range(1, count))
    Profile.objects.bulk_create(
        Profile(endpoint=e, epoch=1, key_hash=bytes(profile.key_hash)) for e in made
    )
    shape = make_finished_run(first)
    values = {"key_epoch": 1, "trigger": "ttl", "due_at": at, "suite": "light", "seed": 1}
    runs = Run.objects.bulk_create(
        Run(
            endpoint=e, profile=shape.profile, planned=5, state="finished", finished_at=at, **values
        )
        for e in made
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
