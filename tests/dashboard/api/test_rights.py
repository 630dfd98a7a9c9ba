"""A token has the rights of its scopes that its owner has now."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from dashboard.models import Endpoint, Grant, ModeSwitch, Team
from dashboard.models.people import Role, Scope
from dashboard.people.services import tokens
from dashboard.trust import modes
from health.modes import Mode
from tests.dashboard.api.client import ApiClient, read_error
from tests.dashboard.api.incidents import make_incident, switch_modes_on
from tests.factories import make_endpoint, make_person, make_run


@pytest.fixture
def teams(db: None) -> tuple[Endpoint, Endpoint]:
    """An endpoint of one team, and one of another."""
    endpoints = []
    for name in ("ours", "theirs"):
        endpoint = make_endpoint(slug=name)
        endpoint.team = Team.objects.create(name=name)
        endpoint.save(update_fields=["team"])
        endpoints.append(endpoint)
    return endpoints[0], endpoints[1]


def token_for(person: User | None, *scopes: str, team: Team | None = None) -> ApiClient:
    issued = tokens.issue_token(name="t", scopes=scopes or Scope.values, by=person, team=team)
    return ApiClient(issued.text, issued.token)


def _slugs(api: ApiClient) -> list[str]:
    return [endpoint["slug"] for endpoint in api.get("/endpoints").json()["endpoints"]]


def _event(slug: str) -> dict[str, Any]:
    return {"endpoint": slug, "at": timezone.now().isoformat(), "verdicts": {}}


def test_what_belongs_to_a_foreign_team_is_not_there(teams: tuple[Endpoint, Endpoint]) -> None:
    """Neither in lists nor by name; the response is the same as for unknown objects."""
    ours, theirs = teams
    alice = make_person("alice", Role.OPERATOR, Role.APPROVER, team=ours.team)
    api = token_for(alice)
    incident, run = make_incident(theirs), make_run(theirs)
    make_incident(ours)

    assert _slugs(api) == ["ours"]
    assert [row["endpoint"] for row in api.get("/incidents").json()["incidents"]] == ["ours"]
    for method, path, unknown in [
        ("GET", "/endpoints/theirs", "/endpoints/nowhere"),
        ("GET", "/endpoints/theirs/policy", "/endpoints/nowhere/policy"),
        ("GET", "/endpoints/theirs/metrics?metric=none", "/endpoints/nowhere/metrics?metric=none"),
        ("PATCH", "/endpoints/theirs", "/endpoints/nowhere"),
        ("DELETE", "/endpoints/theirs", "/endpoints/nowhere"),
        ("POST", "/endpoints/theirs/runs", "/endpoints/nowhere/runs"),
        ("POST", "/endpoints/theirs/modes", "/endpoints/nowhere/modes"),
        ("GET", "/endpoints/theirs/notes", "/endpoints/nowhere/notes"),
        ("GET", f"/runs/{run.pk}", "/runs/999999999"),
        ("POST", f"/runs/{run.pk}/cancel", "/runs/999999999/cancel"),
        ("POST", f"/incidents/{incident.pk}/accept", "/incidents/999999999/accept"),
    ]:
        answer, compared = (api.send(method, url, {}) for url in (path, unknown))
        assert (answer.status_code, answer.json()) == (404, compared.json()), path
    assert api.get(f"/runs/{run.pk}/events").status_code == 404


def test_telemetry_for_a_foreign_endpoint_is_refused_like_for_an_unknown_one(
    teams: tuple[Endpoint, Endpoint],
) -> None:
    """The sender does not learn which endpoints exist."""
    api = token_for(make_person("alice", Role.OPERATOR, team=teams[0].team), "telemetry")
    events = [_event(slug) for slug in ("ours", "theirs", "nowhere")]

    answer = api.post(
        "/telemetry", {"batch_id": "6f1c2b1e-8a55-4d0e-9b57-2f6f0c1f7f10"} | {"events": events}
    )

    assert answer.json()["accepted"] == 1
    assert [rejection["message"] for rejection in answer.json()["rejected"]] == [
        "There is no endpoint 'theirs'.",
        "There is no endpoint 'nowhere'.",
    ]


def test_a_token_loses_what_its_maker_loses(teams: tuple[Endpoint, Endpoint]) -> None:
    """A token loses and regains rights with its owner, at once."""
    alice = make_person("alice", Role.OPERATOR)
    api = token_for(alice, "read", "probe")
    assert api.post("/endpoints/ours/runs", {"suite": "light"}).status_code == 202

    Grant.objects.update(role=Role.VIEWER)
    refused = api.post("/endpoints/ours/runs", {"suite": "light"})
    assert (refused.status_code, "'probe'" in read_error(refused)["detail"]) == (403, True)
    assert api.get("/endpoints/ours").status_code == 200
    Grant.objects.all().delete()
    assert api.get("/endpoints").status_code == 403
    assert api.get("/endpoints/ours").status_code == 404
    User.objects.update(is_active=False)
    without_role = api.get("/endpoints")
    assert (without_role.status_code, "sign in" in read_error(without_role)["detail"]) == (
        401,
        True,
    )


def test_a_token_of_one_team_reaches_nothing_else(teams: tuple[Endpoint, Endpoint]) -> None:
    """Even an administrator's token, and one without an owner."""
    ours, _ = teams
    make_endpoint(slug="of-nobody")
    for maker in (User.objects.create_superuser("root"), None):
        api = token_for(maker, "read", "operate", "telemetry", team=ours.team)

        assert _slugs(api) == ["ours"]
        assert api.get("/endpoints/theirs").status_code == 404
        assert api.delete("/endpoints/of-nobody").status_code == 404
        batch = {"batch_id": "6f1c2b1e-8a55-4d0e-9b57-2f6f0c1f7f10", "events": [_event("theirs")]}
        assert api.post("/telemetry", batch).json()["accepted"] == 0


def test_an_administrators_token_of_one_team_administers_nothing(
    teams: tuple[Endpoint, Endpoint],
) -> None:
    """People, gates and the whole audit log belong to no team, so a team's token has no access."""
    root, vera = User.objects.create_superuser("root"), make_person("vera", Role.VIEWER)
    limited, unlimited = (token_for(root, team=team) for team in (teams[0].team, None))
    role = {"role": "approver"}

    for path in ("/people", "/teams"):
        assert (limited.get(path).status_code, unlimited.get(path).status_code) == (403, 200)
    assert limited.send("PUT", "/gates", {}).status_code == 403
    assert limited.post(f"/people/{vera.pk}/roles", role).status_code == 403
    assert not limited.get("/audit", action="token.").json()["entries"]
    assert unlimited.post(f"/people/{vera.pk}/roles", role).status_code == 201


def test_a_session_reads_what_its_person_may(
    client: Client, teams: tuple[Endpoint, Endpoint]
) -> None:
    """A session has the same rights as on the pages."""
    client.force_login(make_person("vera", Role.VIEWER, team=teams[0].team))

    listed = client.get("/api/v1/endpoints").json()["endpoints"]
    assert [row["slug"] for row in listed] == ["ours"]
    assert client.get("/api/v1/endpoints/theirs").status_code == 404
    client.force_login(make_person("new"))
    assert client.get("/api/v1/endpoints").status_code == 403


def test_decisions_need_the_scope_and_the_right(teams: tuple[Endpoint, Endpoint]) -> None:
    """An operator operates, an approver decides, and a token without an owner cannot decide; a
    manual mode of one can be turned off by the other."""
    ours, _ = teams
    incident = make_incident(ours, severity=3, worst=3)
    switch_modes_on(incident)
    automatic = ModeSwitch.objects.filter(incident=incident).earliest("pk")
    manual = modes.switch_on(ours.profile, Mode.NO_PARALLEL, by=None, reason="so")
    other = modes.switch_on(ours.profile, Mode.STRICT_SCHEMA, by=None, reason="so")
    path = f"/endpoints/ours/modes/{automatic.pk}?reason=mended"
    operator = token_for(make_person("olga", Role.OPERATOR), "operate")
    approver = token_for(make_person("anna", Role.APPROVER), "decide")
    nobody = token_for(None, "operate")

    release = f"/incidents/{incident.pk}/release"
    assert [client.post(release, {"note": "x"}).status_code for client in (operator, nobody)] == [
        403
    ] * 2
    assert [client.delete(path).status_code for client in (operator, nobody)] == [403, 403]
    assert approver.post("/endpoints/ours/notes", {"text": "x"}).status_code == 403

    assert approver.delete(path).status_code == 204
    assert operator.delete(f"/endpoints/ours/modes/{manual.pk}").status_code == 204
    assert approver.delete(f"/endpoints/ours/modes/{other.pk}").status_code == 204
    assert (
        approver.post("/endpoints/ours/modes", {"mode": "no_tools", "reason": "x"}).status_code
        == 201
    )
    assert approver.post(release, {"note": "mended"}).status_code == 200


def test_what_a_token_does_is_done_by_its_maker(teams: tuple[Endpoint, Endpoint]) -> None:
    """The audit log has the person, the token and the origin."""
    from dashboard.core import actor_context

    actors = []
    alice = make_person("alice", Role.OPERATOR)
    api = token_for(alice, "read")
    original = Endpoint.objects.kept

    def noticing() -> Any:
        actors.append(actor_context.current_actor())
        return original()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Endpoint.objects, "kept", noticing)
        api.get("/endpoints")

    who = actors[-1]
    assert (who.via, who.person_id, who.name) == (actor_context.Via.API, alice.pk, "alice")
    assert who.token == api.token.prefix
    assert actor_context.current_actor().token == ""


def test_whoever_works_for_a_team_registers_for_it(teams: tuple[Endpoint, Endpoint]) -> None:
    """Without a global role, a person must name a team, and one of their own."""
    ours, _ = teams
    api = token_for(make_person("olga", Role.OPERATOR, team=ours.team), "read", "operate")
    new = {"provider": "openai", "base_url": "https://a.example/v1", "model": "m", "key": "sk-1"}

    for wrong in ({}, {"team": None}, {"team": "theirs"}, {"team": "nobody's"}):
        refused = api.post("/endpoints", {"slug": "fresh", **new, **wrong})
        assert (refused.status_code, read_error(refused)["errors"][0]["field"]) == (422, "team")
    created = api.post("/endpoints", {"slug": "fresh", **new, "team": "ours"})
    assert (created.status_code, created.json()["team"]) == (201, "ours")
    change = {"updated_at": created.json()["updated_at"]}
    assert api.patch("/endpoints/fresh", {**change, "team": "theirs"}).status_code == 422
    assert api.patch("/endpoints/fresh", {**change, "ttl": "30m"}).json()["team"] == "ours"
    nobody = token_for(None, "operate")
    assert nobody.post("/endpoints", {"slug": "free", **new}).json()["team"] is None
