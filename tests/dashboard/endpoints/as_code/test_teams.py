"""The team of an endpoint in a file: referenced by name, never created, removed if omitted."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.core.errors import Refused
from dashboard.endpoints.as_code import drift, file_writer
from dashboard.models import Endpoint
from dashboard.models.people import Team
from tests.dashboard.endpoints.as_code.builders import NEW, STEADY, apply_file, make_plan
from tests.factories import make_endpoint
from tests.markup import assert_contains

pytestmark = pytest.mark.django_db
WITH_TEAM = STEADY + "    team: search\n"


def test_a_file_assigns_and_removes_a_team() -> None:
    """The case of the name does not matter; a file without the line removes the team."""
    team = Team.objects.create(name="Search")

    apply_file(WITH_TEAM + NEW)
    assert Endpoint.objects.get(slug="steady").team == team
    assert Endpoint.objects.get(slug="fresh").team is None
    assert make_plan(WITH_TEAM + NEW).changing == []

    (step,) = make_plan(STEADY + NEW).changing
    assert [(each.name, each.old, each.new) for each in step.changes] == [("team", "Search", None)]
    apply_file(STEADY + NEW)
    assert Endpoint.objects.get(slug="steady").team is None


@pytest.mark.parametrize("name", ["Search", "null", "no", 'a "b": c', "组"])
def test_an_export_names_the_team_and_reads_back(name: str) -> None:
    """Every name of a team is quoted correctly."""
    make_endpoint(team=Team.objects.create(name=name))

    assert make_plan(file_writer.export_endpoints(None)).changing == []


def test_a_manual_change_of_team_is_drift() -> None:
    """It is listed as any other edit since the last apply."""
    Team.objects.create(name="search")
    apply_file(WITH_TEAM)
    Endpoint.objects.update(team=Team.objects.create(name="billing"))

    (edited,) = drift.read_drift(Endpoint.objects.get())
    assert (edited.name, edited.applied, edited.now) == ("team", "search", "billing")


@pytest.mark.usefixtures("static_files")
def test_an_unknown_team_is_refused_by_name(client: Client) -> None:
    """Plan, page and apply refuse it, and nothing of the file is applied."""
    client.force_login(User.objects.create_superuser("root"))

    for action in (make_plan, apply_file):
        with pytest.raises(Refused, match="There is no team “search”"):
            action(WITH_TEAM + NEW)
    for do in ("plan", "apply"):
        page = client.post("/settings/import/", {"text": WITH_TEAM + NEW, "do": do})
        assert_contains(page, "There is no team “search”")
    assert not Endpoint.objects.exists()
