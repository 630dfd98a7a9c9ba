"""People, teams and tokens by the API: it can end access, but not create credentials."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.models import ApiToken, Team
from dashboard.models.audit import Action
from dashboard.models.people import Role
from dashboard.people.services import tokens
from tests.dashboard.api.client import ApiClient, read_error
from tests.factories import make_endpoint, make_person
from tests.security.people import AuditStart, audit_entries


@pytest.fixture(autouse=True)
def _entries(db: None) -> None:
    AuditStart.begin()


@pytest.fixture
def root(db: None) -> ApiClient:
    issued = tokens.issue_token(
        name="r", scopes=["read", "decide"], by=User.objects.create_superuser("r")
    )
    return ApiClient(issued.text, issued.token)


def test_teams_are_made_renamed_and_removed(root: ApiClient) -> None:
    """A name is unique in any case; a team with endpoints is kept, and the error lists them."""
    created = root.post("/teams", {"name": "search"})
    team = created.json()["id"]
    endpoint = make_endpoint(slug="mine")

    assert (created.status_code, created.json()["people"]) == (201, 0)
    assert read_error(root.post("/teams", {"name": "SEARCH"}))["status"] == 409
    assert root.post("/teams", {"name": " "}).status_code == 409
    assert root.patch(f"/teams/{team}", {"name": "finding"}).json()["name"] == "finding"
    endpoint.team_id = team
    endpoint.save(update_fields=["team"])
    assert "mine" in read_error(root.delete(f"/teams/{team}"))["detail"]
    endpoint.team_id = None
    endpoint.save(update_fields=["team"])
    assert root.delete(f"/teams/{team}").status_code == 204
    assert root.delete(f"/teams/{team}").status_code == 404
    assert not Team.objects.exists()
    assert [(entry["before"], entry["after"]) for entry in audit_entries(Action.TEAM_CHANGED)] == [
        (None, {"name": "search"}),
        ({"name": "search"}, {"name": "finding"}),
        ({"name": "finding"}, None),
    ]


def test_access_is_ended_at_once(root: ApiClient) -> None:
    """Sessions and tokens stop working, and the audit log has the person and the reason."""
    vera = make_person("vera", Role.VIEWER)
    theirs, page = tokens.issue_token(name="v", scopes=["read"], by=vera), Client()
    page.force_login(vera)

    ended = root.post(f"/people/{vera.pk}/deactivate", {"reason": "she left"})

    assert (ended.status_code, ended.json()["is_active"]) == (200, False)
    assert ApiClient(theirs.text, theirs.token).get("/endpoints").status_code == 401
    assert page.get("/").headers["Location"].startswith("/login/")
    (entry,) = audit_entries(Action.PERSON_CHANGED)
    assert (entry["actor"]["name"], entry["actor"]["token"], entry["reason"]) == (
        "r",
        root.token.prefix,
        "she left",
    )
    own = User.objects.get(username="r").pk
    assert root.post(f"/people/{own}/deactivate", {}).status_code == 409
    assert root.post("/people/999999/deactivate", {}).status_code == 404


def test_everybody_lists_their_own_tokens_and_administrators_all(
    root: ApiClient, make_client: Callable[..., ApiClient]
) -> None:
    """Newest first, without secrets."""
    mine, team = make_client("read"), Team.objects.create(name="search")
    team_token = tokens.issue_token(
        name="held", scopes=["read"], by=mine.token.created_by, team=team
    )

    def listed(api: ApiClient) -> list[str]:
        return [token["prefix"] for token in api.get("/tokens").json()["tokens"]]

    assert listed(mine) == [team_token.token.prefix, mine.token.prefix]
    assert listed(root) == [team_token.token.prefix, mine.token.prefix, root.token.prefix]
    assert listed(ApiClient(team_token.text, team_token.token)) == [team_token.token.prefix]
    assert (
        mine.text.removeprefix(f"tg_{mine.token.prefix}_")
        not in root.get("/tokens").content.decode()
    )
    page = root.get("/tokens", limit=2).json()
    rest = root.get("/tokens", cursor=page["next_cursor"]).json()
    assert [token["prefix"] for token in rest["tokens"]] == [root.token.prefix]


def test_a_token_is_revoked_by_its_maker_or_an_administrator(
    root: ApiClient, make_client: Callable[..., ApiClient]
) -> None:
    """Also the calling token; others' tokens answer 404, and the scope read is not enough."""
    reading, operating, leaked = make_client("read"), make_client("operate"), make_client("operate")

    assert reading.delete(f"/tokens/{leaked.token.prefix}").status_code == 403
    assert operating.delete(f"/tokens/{root.token.prefix}").status_code == 404
    assert leaked.delete(f"/tokens/{leaked.token.prefix}").status_code == 204
    assert leaked.delete(f"/tokens/{leaked.token.prefix}").status_code == 401
    assert root.delete(f"/tokens/{leaked.token.prefix}").status_code == 404
    assert root.delete(f"/tokens/{operating.token.prefix}").status_code == 204
    remaining = ApiToken.objects.filter(revoked_at=None).values_list("prefix", flat=True)
    assert set(remaining) == {root.token.prefix, reading.token.prefix}
    assert len(audit_entries(Action.TOKEN_REVOKED)) == 2


@pytest.mark.parametrize(
    "path", ["/people", "/tokens", "/people/1/link", "/people/1/reactivate", "/invitations"]
)
def test_nothing_that_opens_a_door_is_made_by_a_token(root: ApiClient, path: str) -> None:
    """Tokens, invitations and links can be created only after a recent sign-in."""
    assert root.post(path, {"name": "x", "scopes": ["read"]}).status_code in {404, 405}
