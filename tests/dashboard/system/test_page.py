from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models.functions import Now
from django.test import Client
from pytest_django import DjangoAssertNumQueries
from pytest_django.asserts import assertRedirects

from dashboard.models import Endpoint, Worker
from tests.dashboard.system.builders import backdate_duty, make_held_run, make_old_worker
from tests.factories import make_endpoint, make_finished_run
from tests.markup import assert_contains, assert_not_contains

URL = "/settings/system/"


def test_a_healthy_system_has_one_line(signed_in: Client, healthy: Endpoint) -> None:
    """Without problems the page has a single verdict."""
    page = signed_in.get(URL)

    assert_contains(page, "Everything runs.")
    assert_contains(page, "host:1")


def test_a_new_system_says_what_to_start(signed_in: Client) -> None:
    """Empty tables have a message instead."""
    page = signed_in.get(URL)

    assert_contains(page, "No worker is alive, so nothing is probed.")
    assert_contains(page, "celery -A workers worker")
    assert_contains(page, "No endpoint is registered yet.")
    assert_contains(page, "never")


def test_the_worst_problem_comes_first(signed_in: Client, healthy: Endpoint) -> None:
    """Failures are above warnings."""
    backdate_duty("beat", timedelta(hours=1))
    Worker.objects.update(seen_at=Now() - timedelta(minutes=5))

    text = signed_in.get(URL).content.decode()

    assert "1 thing to mend." in text
    assert text.index("No worker is alive") < text.index("No beat was heard for 1 h")


def test_a_warning_alone_is_not_a_failure(signed_in: Client, healthy: Endpoint) -> None:
    """Workers do not need a beat, and the page says so."""
    backdate_duty("beat", timedelta(hours=1))

    page = signed_in.get(URL)

    assert_contains(page, "It runs, with something to look at.")
    assert_not_contains(page, "to mend")


def test_figures_of_the_last_hour_are_shown(signed_in: Client, healthy: Endpoint) -> None:
    """The page shows claims, takeovers and the share of void attempts."""
    make_finished_run(healthy, passed=3, failed=1, void=1, claims=2)
    make_held_run(healthy, expires_in=timedelta(minutes=1))

    page = signed_in.get(URL)

    assert_contains(page, "3 claims, 1 takeover")
    assert_contains(page, "20.0%")
    assert_contains(page, "1 of 5 in the last hour")


def test_lost_workers_are_counted(signed_in: Client, healthy: Endpoint) -> None:
    """The list has only workers that are alive."""
    make_old_worker("host:2", timedelta(hours=2))

    page = signed_in.get(URL)

    assert_contains(page, "1 seen within the last day is gone.")
    assert_not_contains(page, "host:2")


@pytest.mark.usefixtures("no_broker")
def test_the_page_works_without_the_broker(signed_in: Client, healthy: Endpoint) -> None:
    """It says that the broker is down and that no run is lost."""
    assert_contains(signed_in.get(URL), "Runs start late, and none is lost.")


def test_the_page_refreshes_the_part_that_changes(signed_in: Client, healthy: Endpoint) -> None:
    """The part has the markup of the first load, without the layout."""
    part = signed_in.get(URL, headers={"HX-Request": "true"})

    assert_contains(part, 'hx-trigger="every 10s"')
    assert_not_contains(part, "<html")
    assert part.content.decode().strip() in signed_in.get(URL).content.decode()


def test_the_page_requires_a_login(client: Client, db: None) -> None:
    """Anonymous users see no names of workers and endpoints."""
    assertRedirects(client.get(URL), f"/login/?next={URL}", fetch_redirect_response=False)


def test_the_number_of_queries_does_not_depend_on_the_fleet(
    signed_in: Client, healthy: Endpoint, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """The page needs the queries of the state and three for the user."""
    for number in range(5):
        make_endpoint(slug=f"e{number}")

    with django_assert_num_queries(14):
        signed_in.get(URL)


def test_every_page_links_to_the_system_page(signed_in: Client) -> None:
    """The navigation contains it."""
    assert_contains(signed_in.get("/"), f'href="{URL}"')
