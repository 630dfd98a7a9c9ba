"""People see and change what their teams own; everything else answers 404."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from dashboard.models import Endpoint, Incident, MaintenanceWindow
from dashboard.models.people import Role, Team
from dashboard.notifications.services import maintenance
from tests.dashboard.incidents.builders import degrade
from tests.factories import make_endpoint, make_finished_run, make_person
from tests.markup import assert_contains, assert_not_contains

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("static_files")]
SignIn = Callable[..., Client]
FIELDS = {
    "slug": "ours-new",
    "provider": "openai",
    "base_url": "http://127.0.0.1:9/v1",
    "model": "m-1",
    "ttl": "6h",
    "max_concurrency": "2",
}


@pytest.fixture
def teams() -> tuple[Team, Team]:
    return Team.objects.create(name="Ours"), Team.objects.create(name="Theirs")


@pytest.fixture
def fleet(teams: tuple[Team, Team]) -> None:
    """An endpoint of our team, one of another and one without a team, each with data."""
    for slug, team in (("ours-1", teams[0]), ("theirs-1", teams[1]), ("nobodys-1", None)):
        endpoint = make_endpoint(slug=slug, model="shared-model", team=team)
        make_finished_run(endpoint)
        degrade(endpoint)
        _plan(endpoint, f"reason of {slug}")
    Endpoint.objects.update(created_at="2020-01-01T00:00Z", last_finished_at=None)
    _plan(None, "reason of all")


@pytest.fixture
def client_as(teams: tuple[Team, Team]) -> SignIn:
    """A client of a person with those roles, in our team or everywhere."""

    def sign_in(*roles: Role, everywhere: bool = False) -> Client:
        client = Client()
        name = f"p{User.objects.count()}"
        client.force_login(make_person(name, *roles, team=None if everywhere else teams[0]))
        return client

    return sign_in


def _plan(endpoint: Endpoint | None, reason: str) -> MaintenanceWindow:
    now = timezone.now()
    end = now + timedelta(hours=2)
    return maintenance.plan_window(endpoint, starts_at=now, ends_at=end, by=None, reason=reason)


@pytest.mark.usefixtures("fleet")
def test_no_list_names_what_belongs_to_others(client_as: SignIn) -> None:
    """Not in rows, counts, choices, news, figures or files."""
    viewer = client_as(Role.VIEWER)
    for address in (
        "/",
        "/?group=team",
        "/?q=theirs",
        "/fleet/rows/?seen=x",
        "/compare/",
        "/compare/?endpoint=ours-1&endpoint=theirs-1&endpoint=nobodys-1",
        "/compare/?model=shared-model",
        "/compare/export/?format=csv",
        "/compare/export/?what=chart&model=shared-model",
        "/incidents/",
        "/incidents/?state=open",
        "/settings/system/",
        "/settings/maintenance/",
        "/settings/demo/",
        "/settings/export/",
    ):
        text = viewer.get(address).content.decode()
        # The page may repeat the query, but not show its data.
        visible = re.sub(r'endpoint=(theirs|nobodys)-1|value="(theirs|nobodys)-1"', "", text)
        assert not re.search("theirs-1|nobodys-1|Theirs", visible), address
    assert_contains(viewer.get("/"), "<b>1</b> endpoint")
    assert_contains(viewer.get("/"), "ours-1")
    assert_contains(viewer.get("/settings/system/"), "ours-1")


@pytest.mark.usefixtures("fleet")
def test_whose_role_holds_everywhere_sees_all_of_it(client_as: SignIn) -> None:
    """Including endpoints without a team; the list can be limited to one team."""
    viewer = client_as(Role.VIEWER, everywhere=True)

    for slug in ("ours-1", "theirs-1", "nobodys-1"):
        assert_contains(viewer.get("/"), slug)
        assert_contains(viewer.get("/settings/export/"), f"  {slug}:")
        assert_contains(viewer.get("/settings/maintenance/"), f"reason of {slug}")
    rows = 'class="row-link"[^>]*>([^<]*)</a>'
    for team, slugs in (("Ours", ["ours-1"]), ("-", ["nobodys-1"])):
        assert re.findall(rows, viewer.get(f"/?team={team}").content.decode()) == slugs
    grouped = viewer.get("/?group=team")
    assert_contains(grouped, 'href="?team=Theirs"')
    assert_contains(grouped, "without a team")


@pytest.mark.usefixtures("fleet")
def test_what_is_not_there_and_what_is_not_theirs_answers_alike(client_as: SignIn) -> None:
    """Responses do not reveal which names other teams use."""
    operator, viewer = client_as(Role.OPERATOR), client_as(Role.VIEWER)
    theirs = Incident.objects.get(profile__endpoint__slug="theirs-1")

    for client in (operator, viewer):
        for pair in (
            ("/endpoints/theirs-1/", "/endpoints/gone/"),
            ("/endpoints/theirs-1/edit/", "/endpoints/gone/edit/"),
            (f"/incidents/{theirs.pk}/", "/incidents/999999/"),
            (f"/incidents/{theirs.pk}/release/", "/incidents/999999/release/"),
        ):
            responses = [client.post(path) for path in pair] + [client.get(path) for path in pair]
            assert {response.status_code for response in responses} == {404}, pair


@pytest.mark.usefixtures("fleet")
def test_viewers_are_offered_nothing_that_would_be_refused(client_as: SignIn) -> None:
    """No button on their pages leads to a refusal; operators and approvers have theirs."""
    incident = Incident.objects.get(profile__endpoint__slug="ours-1")
    Incident.objects.filter(pk=incident.pk).update(release_wanted=True)
    offered = {
        "/": {"endpoints/new/": Role.OPERATOR},
        "/endpoints/ours-1/": {
            "ours-1/edit/": Role.OPERATOR,
            "ours-1/probe/": Role.OPERATOR,
            'action="/endpoints/ours-1/notes/': Role.OPERATOR,
            "ours-1/accept/": Role.APPROVER,
            "#release": Role.APPROVER,
        },
        f"/incidents/{incident.pk}/": {
            "/acknowledge/": Role.OPERATOR,
            "/release/": Role.APPROVER,
            "/accept/": Role.APPROVER,
        },
        "/settings/maintenance/": {"Plan a window": Role.OPERATOR, "/cancel/": Role.OPERATOR},
        "/settings/": {"/endpoints/new/": Role.OPERATOR},
    }
    clients = {role: client_as(role) for role in Role}

    for address, parts in offered.items():
        pages = {role: client.get(address) for role, client in clients.items()}
        for part, needed in parts.items():
            assert_not_contains(pages[Role.VIEWER], part)
            assert_contains(pages[needed], part)
            if needed is Role.APPROVER:
                assert_not_contains(pages[Role.OPERATOR], part)


@pytest.mark.usefixtures("fleet")
def test_maintenance_is_planned_for_ones_own_endpoints(client_as: SignIn) -> None:
    """Maintenance of all endpoints needs a role that holds everywhere."""
    now = timezone.now()
    form = {
        "starts_at": now.strftime("%Y-%m-%dT%H:%M"),
        "ends_at": (now + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M"),
        "reason": "moving",
    }
    operator, everywhere = client_as(Role.OPERATOR), client_as(Role.OPERATOR, everywhere=True)
    of_all = MaintenanceWindow.objects.get(endpoint=None)

    page = operator.get("/settings/maintenance/")
    assert_not_contains(page, ">every endpoint</option>")
    assert_contains(page, "reason of all")  # it holds for theirs too
    assert_not_contains(page, f"/settings/maintenance/{of_all.pk}/cancel/")
    for endpoint in ("", "theirs-1"):
        operator.post("/settings/maintenance/", {**form, "endpoint": endpoint})
    assert not MaintenanceWindow.objects.filter(reason="moving").exists()
    assert operator.post(f"/settings/maintenance/{of_all.pk}/cancel/").status_code == 404
    operator.post("/settings/maintenance/", {**form, "endpoint": "ours-1"})
    everywhere.post("/settings/maintenance/", {**form, "endpoint": ""})
    planned = MaintenanceWindow.objects.filter(reason="moving").order_by("pk")
    assert [window.endpoint and window.endpoint.slug for window in planned] == ["ours-1", None]


@pytest.mark.usefixtures("fleet")
def test_endpoints_go_only_to_teams_where_one_may_operate(client_as: SignIn, teams: object) -> None:
    """On creation and on a move; without a team, the right is needed everywhere."""
    operator, everywhere = client_as(Role.OPERATOR), client_as(Role.OPERATOR, everywhere=True)

    for team in ("Theirs", ""):
        operator.post("/endpoints/new/", {**FIELDS, "team": team})
        assert not Endpoint.objects.filter(slug="ours-new").exists()
        operator.post("/endpoints/ours-1/edit/", {**FIELDS, "slug": "ours-1", "team": team})
    operator.post("/endpoints/new/", {**FIELDS, "team": "Ours"})
    assert _team_of("ours-new") == "Ours"
    assert _team_of("ours-1") == "Ours"
    assert_contains(operator.get("/endpoints/ours-new/"), "?team=Ours")

    for team, expected in (("Theirs", "Theirs"), ("", None)):
        everywhere.post("/endpoints/ours-new/edit/", {**FIELDS, "team": team})
        assert _team_of("ours-new") == expected


def _team_of(slug: str) -> str | None:
    team = Endpoint.objects.get(slug=slug).team
    return team.name if team else None


def test_whoever_has_no_role_yet_is_told_whom_to_ask(client: Client) -> None:
    """Every URL that needs a role shows a page that says what to do."""
    client.force_login(make_person("newcomer"))

    for address in ("/", "/incidents/", "/endpoints/new/"):
        page = client.get(address)
        assert_contains(page, "You have no role yet", status_code=403)
        assert_contains(page, 'action="/logout/"', status_code=403)
    assert client.get("/settings/").status_code == 200


def test_a_fleet_that_is_empty_for_a_viewer_says_what_comes(client_as: SignIn) -> None:
    """A viewer cannot register an endpoint, so the page does not explain how."""
    page = client_as(Role.VIEWER).get("/")

    assert_contains(page, "No endpoint yet")
    assert_not_contains(page, "/endpoints/new/")
