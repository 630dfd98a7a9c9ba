from __future__ import annotations

import re
from typing import Any

from django.http import HttpResponse
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from dashboard.endpoints.services import endpoints
from dashboard.trust import modes
from health.modes import Mode
from tests.dashboard.incidents.builders import degrade
from tests.factories import make_attempt, make_endpoint, make_finished_run, make_run
from tests.markup import assert_contains, assert_not_contains, squeeze


def seen_on(client: Client, **asked: str) -> list[str]:
    """What the page tells the server that it shows."""
    text = squeeze(client.get("/", asked).content.decode())
    return re.findall(r'name="seen" value="([^"]+)"', text)


def news(client: Client, seen: list[str], **asked: str) -> HttpResponse:
    given: dict[str, Any] = {**asked, "seen": seen}
    answer: Any = client.get("/fleet/rows/", given)
    return answer  # type: ignore[no-any-return]


def test_nothing_moved_is_no_content(
    signed_in: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """The poll of a page that is up to date gets 204, for six queries."""
    make_finished_run(make_endpoint())
    seen = seen_on(signed_in)

    # Session, person, their roles, all endpoints, open incidents, decisions.
    with django_assert_num_queries(6):
        answer = news(signed_in, seen)

    assert answer.status_code == 204


def test_only_the_row_that_changed_comes(signed_in: Client) -> None:
    """A run that ends brings its own row, marked as changed, and no other."""
    steady, other = make_endpoint(), make_endpoint(slug="other")
    make_finished_run(steady)
    make_finished_run(other)
    seen = seen_on(signed_in)

    make_finished_run(steady, passed=4, failed=0)
    answer = news(signed_in, seen)

    assert_contains(answer, f'id="row-{steady.pk}" class="changed" hx-swap-oob="true"')
    assert_contains(answer, "<b>100%</b> 4/4")
    assert_not_contains(answer, f'id="row-{other.pk}"')
    assert_not_contains(answer, "fleet-counts")
    assert_not_contains(answer, "data-moved")
    assert_not_contains(answer, "<html")


def test_progress_and_modes_are_news(signed_in: Client) -> None:
    """Every step of a run, and a mode that somebody switched on, changes the row."""
    endpoint = make_endpoint()
    run = make_run(endpoint)
    seen = seen_on(signed_in)

    make_attempt(run)
    stepped = news(signed_in, seen)
    modes.switch_on(endpoint.profile, Mode.NO_PARALLEL, by=None, reason="careful")
    switched = news(signed_in, seen)

    assert_contains(stepped, '<progress max="5" value="1"')
    assert_contains(switched, "no_parallel")


def test_a_changed_order_is_offered_and_not_forced(signed_in: Client) -> None:
    """Rows stay where they are; the page says that the list has changed, and counts follow."""
    make_finished_run(make_endpoint(slug="a"))
    late = make_endpoint(slug="b")
    make_finished_run(late)
    seen = seen_on(signed_in)

    make_finished_run(late, passed=0, failed=5)
    answer = news(signed_in, seen)

    assert_contains(answer, "data-moved")
    assert_contains(answer, f'id="row-{late.pk}"')
    assert_contains(answer, 'id="fleet-counts"')
    assert_contains(answer, "1 of 2 endpoints is worse than it should be")


def test_an_endpoint_that_fits_no_more_is_brought_up_to_date(signed_in: Client) -> None:
    """Someone who looks at the failing ones sees one of them recover before it goes."""
    endpoint = make_endpoint()
    make_finished_run(endpoint, passed=0, failed=5)
    seen = seen_on(signed_in, status="failing")

    make_finished_run(endpoint)
    answer = news(signed_in, seen, status="failing")

    assert_contains(answer, '<span class="status healthy">')
    assert_contains(answer, "data-moved")


def test_a_removed_endpoint_changes_the_list(signed_in: Client) -> None:
    """What is gone has no row to bring; the list says that it has changed."""
    endpoint = make_endpoint()
    make_endpoint(slug="stays")
    seen = seen_on(signed_in)

    endpoints.remove(endpoint)
    answer = news(signed_in, seen)

    assert_contains(answer, "data-moved")
    assert_not_contains(answer, f'id="row-{endpoint.pk}"')


def test_the_head_of_a_group_follows_its_members(signed_in: Client) -> None:
    """The state of a group is news of its own, and its tag's row has a name of its own."""
    endpoint = make_endpoint(tags=["eu", "prod"])
    seen = seen_on(signed_in, group="tag")

    make_finished_run(endpoint, passed=0, failed=5)
    answer = news(signed_in, seen, group="tag")

    assert_contains(answer, 'class="group-head"', count=2)
    assert_contains(answer, 'class="row-link"', count=2)
    assert_contains(answer, "1 failing")


def test_an_incident_that_opens_is_on_top(signed_in: Client) -> None:
    """Who, since when, what and a link: without a reload."""
    endpoint = make_endpoint(slug="fallen")
    seen = seen_on(signed_in)

    incident = degrade(endpoint)
    answer = news(signed_in, seen)

    assert_contains(answer, 'id="fleet-top" hx-swap-oob="true"')
    assert_contains(answer, "1 open incident")
    assert_contains(answer, f'href="/incidents/{incident.pk}/">Parse success fell from')


def test_hostile_marks_are_ignored(signed_in: Client) -> None:
    """What a page claims to have seen is no way in."""
    make_finished_run(make_endpoint())
    marks = ["row-1-<script>.x", "row-99999999999999999999.x", "x" * 5000, "group-.", ""]

    answer = news(signed_in, marks * 100)

    assert answer.status_code == 200
    assert_not_contains(answer, "<script>")
