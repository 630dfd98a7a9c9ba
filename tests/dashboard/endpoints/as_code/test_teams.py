"""The team of an endpoint in a file: by name, never created, and gone where the file is silent."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.core.errors import Refused
from dashboard.endpoints.as_code import drift, file_writer
from dashboard.models import Endpoint
from dashboard.models.people import Team
from tests.dashboard.endpoints.as_code.builders import NEW, STEADY, applied, planned
from tests.factories import make_endpoint
from tests.markup import assert_contains

pytestmark = pytest.mark.django_db
OURS = STEADY + "    team: search\n"


def test_a_file_gives_an_endpoint_to_a_team_and_takes_it_back() -> None:
    """Whatever the case of the name; a file without the line leaves it without a team."""
    team = Team.objects.create(name="Search")

    applied(OURS + NEW)
    assert Endpoint.objects.get(slug="steady").team == team
    assert Endpoint.objects.get(slug="fresh").team is None
    assert planned(OURS + NEW).changing == []

    (step,) = planned(STEADY + NEW).changing
    assert [(each.name, each.old, each.new) for each in step.changes] == [("team", "Search", None)]
    applied(STEADY + NEW)
    assert Endpoint.objects.get(slug="steady").team is None


@pytest.mark.parametrize("name", ["Search", "null", "no", 'a "b": c', "组"])
def test_an_export_names_the_team_and_reads_back(name: str) -> None:
    """Whatever a team is called."""
    make_endpoint(team=Team.objects.create(name=name))

    assert planned(file_writer.export(None)).changing == []


def test_a_move_by_hand_is_told_from_what_the_file_said() -> None:
    """As any other edit since the last apply."""
    Team.objects.create(name="search")
    applied(OURS)
    Endpoint.objects.update(team=Team.objects.create(name="billing"))

    (edited,) = drift.of(Endpoint.objects.get())
    assert (edited.name, edited.applied, edited.now) == ("team", "search", "billing")


@pytest.mark.usefixtures("static_files")
def test_a_team_that_is_not_there_is_refused_by_name(client: Client) -> None:
    """In the plan, in the page and when applying; nothing else of the file is done either."""
    client.force_login(User.objects.create_superuser("root"))

    for refused in (planned, applied):
        with pytest.raises(Refused, match="There is no team “search”"):
            refused(OURS + NEW)
    for do in ("plan", "apply"):
        page = client.post("/settings/import/", {"text": OURS + NEW, "do": do})
        assert_contains(page, "There is no team “search”")
    assert not Endpoint.objects.exists()
