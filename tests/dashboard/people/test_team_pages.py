"""The pages of teams: creating and removing them, and moving endpoints."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django.asserts import assertRedirects

from dashboard.endpoints.services import endpoints
from dashboard.models import Endpoint, Grant, Team
from dashboard.models.people import Role
from tests.factories import make_endpoint, make_person
from tests.markup import assert_contains, assert_not_contains


@pytest.fixture
def as_administrator(client: Client, db: None) -> Client:
    client.force_login(User.objects.create_superuser("root"))
    return client


def test_a_team_is_made_renamed_and_removed(as_administrator: Client) -> None:
    """Each page leads to the next; names must differ in more than case."""
    assert_contains(as_administrator.get("/settings/teams/"), "No teams yet")

    created = as_administrator.post(
        "/settings/teams/", {"name": "  Search   and find "}, follow=True
    )
    team = Team.objects.get()
    here = f"/settings/teams/{team.pk}/"
    assertRedirects(created, here)
    assert_contains(created, "Search and find is made.")
    assert_contains(created, "No endpoints yet")
    assert_contains(created, "Nobody yet")
    duplicate = as_administrator.post("/settings/teams/", {"name": "SEARCH AND FIND"})
    assert_contains(duplicate, "There is already a team called")
    Team.objects.create(name="Ops")
    assert_contains(as_administrator.post(here, {"name": "ops"}), "There is already a team called")
    assert_contains(as_administrator.post(here, {"name": "Find"}, follow=True), "called Find now")
    for wrong in ("", " ", "x" * 61, "a\0b", "a\u202eb"):
        page = as_administrator.post("/settings/teams/", {"name": wrong})
        assert_contains(page, "has-error")

    assert_contains(as_administrator.get(f"{here}remove/"), "Nobody has a role in it.")
    removed = as_administrator.post(f"{here}remove/", follow=True)
    assert_contains(removed, "The team Find is removed.")
    assert [team.name for team in Team.objects.all()] == ["Ops"]
    assert as_administrator.get(here).status_code == 404


def test_endpoints_are_moved_in_and_out(as_administrator: Client) -> None:
    """Several at once, from no team and from another; each side links to the other."""
    team, other = Team.objects.create(name="Search"), Team.objects.create(name="Ops")
    for slug in ("one", "two", "three"):
        make_endpoint(slug=slug)
    Endpoint.objects.filter(slug="two").update(team=other)
    here = f"/settings/teams/{team.pk}/"

    moved = as_administrator.post(f"{here}endpoints/", {"endpoint": ["one", "two", "x\0"]})
    page = as_administrator.get(here)

    assertRedirects(moved, here)
    assert_contains(page, "2 endpoints were moved.")
    assert_contains(page, 'href="/endpoints/one/"')
    assert_contains(page, 'type="checkbox" name="endpoint" value="three"')
    assert_not_contains(page, 'type="checkbox" name="endpoint" value="one"')
    assert set(team.endpoints.values_list("slug", flat=True)) == {"one", "two"}
    out = {"endpoint": "one", "to": "nobody"}
    assert_contains(
        as_administrator.post(f"{here}endpoints/", out, follow=True), "1 endpoint was moved."
    )
    assert Endpoint.objects.get(slug="one").team is None
    nothing = as_administrator.post(f"{here}endpoints/", {"endpoint": "gone"}, follow=True)
    assert_contains(nothing, "choose an endpoint first")
    assert_contains(as_administrator.get("/settings/teams/"), "2 endpoints are in no team")


def test_a_team_with_endpoints_stays_and_one_without_takes_its_roles_along(
    as_administrator: Client,
) -> None:
    """The error names the endpoints; removed endpoints do not count."""
    team = Team.objects.create(name="Search")
    bob = make_person("bob", Role.OPERATOR, Role.APPROVER, team=team)
    make_person("carol", Role.VIEWER, team=team)
    endpoint = make_endpoint(slug="steady")
    Endpoint.objects.filter(pk=endpoint.pk).update(team=team)
    here = f"/settings/teams/{team.pk}/"

    assert_contains(as_administrator.get(f"{here}remove/"), "steady")
    refused = as_administrator.post(f"{here}remove/", follow=True)
    assert_contains(refused, "Search still has endpoints: steady. Move them out first.")
    page = as_administrator.get(here)
    assert_contains(page, f'href="/settings/people/{bob.pk}/"')
    assert_contains(page, "Approver, Operator")

    endpoints.remove(Endpoint.objects.get(pk=endpoint.pk))
    assert_contains(as_administrator.get(f"{here}remove/"), "2 people lose their roles in it:")
    as_administrator.post(f"{here}remove/", {"reason": "merged"})

    assert not Team.objects.exists()
    assert not Grant.objects.exists()
    assert Endpoint.objects.get(pk=endpoint.pk).team is None


@pytest.mark.django_db
def test_teams_are_for_administrators(client: Client) -> None:
    """Anonymous visitors are redirected, all others are refused, and nothing changes."""
    team = Team.objects.create(name="Search")
    insider = make_person("bob", Role.OPERATOR, Role.APPROVER, team=team)
    of_team = f"/settings/teams/{team.pk}/"
    both = [("get", "/settings/teams/"), ("get", of_team), ("get", f"{of_team}remove/")]
    posts = [("post", each) for _, each in both] + [("post", f"{of_team}endpoints/")]

    for way, address in [*both, *posts]:
        client.logout()
        assert getattr(client, way)(address).headers["Location"].startswith("/login/")
        client.force_login(insider)
        assert getattr(client, way)(address, {"name": "x"}).status_code == 403

    assert [each.name for each in Team.objects.all()] == ["Search"]


def test_a_crowded_team_takes_as_many_queries_as_a_small_one(as_administrator: Client) -> None:
    """No query per endpoint, person or team."""
    team = Team.objects.create(name="Search")
    counted = []
    for count in (1, 12):
        Team.objects.bulk_create(Team(name=f"team {count}-{n}") for n in range(count))
        people = User.objects.bulk_create(User(username=f"p{count}-{n}") for n in range(count))
        Grant.objects.bulk_create(
            Grant(person=person, team=team, role="viewer") for person in people
        )
        Endpoint.objects.bulk_create(
            Endpoint(slug=f"e{count}-{n}", provider="openai", base_url="http://x", model="m")
            for n in range(2 * count)
        )
        mine = Endpoint.objects.filter(slug__in=[f"e{count}-{n}" for n in range(count)])
        mine.update(team=team)
        with CaptureQueriesContext(connection) as queries:
            as_administrator.get("/settings/teams/")
            as_administrator.get(f"/settings/teams/{team.pk}/")
        counted.append(len(queries))

    assert counted[0] == counted[1]
