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


def page_marks(client: Client, **query: str) -> list[str]:
    """The marks of what the page shows, as it sends them with an update request."""
    text = squeeze(client.get("/", query).content.decode())
    return re.findall(r'name="seen" value="([^"]+)"', text)


def get_updates(client: Client, marks: list[str], **query: str) -> HttpResponse:
    data: dict[str, Any] = {**query, "seen": marks}
    response: Any = client.get("/fleet/rows/", data)
    return response  # type: ignore[no-any-return]


def test_no_change_is_no_content(
    signed_in: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """The poll of an up-to-date page gets 204, with six queries."""
    make_finished_run(make_endpoint())
    marks = page_marks(signed_in)

    # Session, user, roles, all endpoints, open incidents, decisions.
    with django_assert_num_queries(6):
        response = get_updates(signed_in, marks)

    assert response.status_code == 204


def test_only_changed_rows_are_sent(signed_in: Client) -> None:
    """A finished run updates its own row, marked as changed, and no other."""
    steady, other = make_endpoint(), make_endpoint(slug="other")
    make_finished_run(steady)
    make_finished_run(other)
    marks = page_marks(signed_in)

    make_finished_run(steady, passed=4, failed=0)
    response = get_updates(signed_in, marks)

    assert_contains(response, f'id="row-{steady.pk}" class="changed" hx-swap-oob="true"')
    assert_contains(response, "<b>100%</b> 4/4")
    assert_not_contains(response, f'id="row-{other.pk}"')
    assert_not_contains(response, "fleet-counts")
    assert_not_contains(response, "data-moved")
    assert_not_contains(response, "<html")


def test_progress_and_modes_update_a_row(signed_in: Client) -> None:
    """Every attempt of a run and every mode that is switched on changes the row."""
    endpoint = make_endpoint()
    run = make_run(endpoint)
    marks = page_marks(signed_in)

    make_attempt(run)
    stepped = get_updates(signed_in, marks)
    modes.switch_on(endpoint.profile, Mode.NO_PARALLEL, by=None, reason="careful")
    switched = get_updates(signed_in, marks)

    assert_contains(stepped, '<progress max="5" value="1"')
    assert_contains(switched, "no_parallel")


def test_a_changed_order_is_offered_and_not_forced(signed_in: Client) -> None:
    """Rows stay in place; the page offers the new order, and the counts are updated."""
    make_finished_run(make_endpoint(slug="a"))
    late = make_endpoint(slug="b")
    make_finished_run(late)
    marks = page_marks(signed_in)

    make_finished_run(late, passed=0, failed=5)
    response = get_updates(signed_in, marks)

    assert_contains(response, "data-moved")
    assert_contains(response, f'id="row-{late.pk}"')
    assert_contains(response, 'id="fleet-counts"')
    assert_contains(response, "1 of 2 endpoints is worse than it should be")


def test_an_endpoint_that_no_longer_matches_is_still_updated(signed_in: Client) -> None:
    """A list of failing endpoints shows that one has recovered."""
    endpoint = make_endpoint()
    make_finished_run(endpoint, passed=0, failed=5)
    marks = page_marks(signed_in, status="failing")

    make_finished_run(endpoint)
    response = get_updates(signed_in, marks, status="failing")

    assert_contains(response, '<span class="status healthy">')
    assert_contains(response, "data-moved")


def test_a_removed_endpoint_changes_the_list(signed_in: Client) -> None:
    """A removed endpoint has no row to send; the page offers the new list."""
    endpoint = make_endpoint()
    make_endpoint(slug="stays")
    marks = page_marks(signed_in)

    endpoints.remove(endpoint)
    response = get_updates(signed_in, marks)

    assert_contains(response, "data-moved")
    assert_not_contains(response, f'id="row-{endpoint.pk}"')


def test_the_heading_of_a_group_follows_its_members(signed_in: Client) -> None:
    """The heading is updated too, and an endpoint with two tags has two rows."""
    endpoint = make_endpoint(tags=["eu", "prod"])
    marks = page_marks(signed_in, group="tag")

    make_finished_run(endpoint, passed=0, failed=5)
    response = get_updates(signed_in, marks, group="tag")

    assert_contains(response, 'class="group-head"', count=2)
    assert_contains(response, 'class="row-link"', count=2)
    assert_contains(response, "1 failing")


def test_a_new_incident_is_shown_on_top(signed_in: Client) -> None:
    """With its title and a link, without a reload."""
    endpoint = make_endpoint(slug="fallen")
    marks = page_marks(signed_in)

    incident = degrade(endpoint)
    response = get_updates(signed_in, marks)

    assert_contains(response, 'id="fleet-top" hx-swap-oob="true"')
    assert_contains(response, "1 open incident")
    assert_contains(response, f'href="/incidents/{incident.pk}/">Parse success fell from')


def test_hostile_marks_are_ignored(signed_in: Client) -> None:
    """Invalid marks are not echoed."""
    make_finished_run(make_endpoint())
    marks = ["row-1-<script>.x", "row-99999999999999999999.x", "x" * 5000, "group-.", ""]

    response = get_updates(signed_in, marks * 100)

    assert response.status_code == 200
    assert_not_contains(response, "<script>")
