"""Stages by the API: requests, decisions with four eyes, stepping back, pins, gates."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import F

from dashboard.models import AuditEntry, Endpoint, GateVersion, Grant, Profile, RolloutRequest, Team
from dashboard.models.people import Role
from dashboard.people.services import tokens
from health.gates import DEFAULTS
from tests.dashboard.api.client import ApiClient, read_error
from tests.dashboard.rollouts.builders import make_ready_endpoint, measure
from tests.factories import make_person

REASON = {"reason": "a good week"}


def token_for(person: User, *scopes: str) -> ApiClient:
    issued = tokens.issue_token(name="t", scopes=scopes or ["read", "operate"], by=person)
    return ApiClient(issued.text, issued.token)


@pytest.fixture
def olga(db: None) -> ApiClient:
    """An operator, who requests."""
    return token_for(make_person("olga", Role.OPERATOR))


@pytest.fixture
def anna(db: None) -> ApiClient:
    """An approver, who decides."""
    return token_for(make_person("anna", Role.APPROVER), "read", "decide")


@pytest.fixture
def endpoint(db: None) -> Endpoint:
    return make_ready_endpoint()


def request_promotion(api: ApiClient) -> dict[str, Any]:
    answer = api.post("/endpoints/steady/rollout", REASON)
    assert answer.status_code == 201, answer.content
    body: dict[str, Any] = answer.json()
    return body


def stage(endpoint: Endpoint) -> str:
    return Profile.objects.get(endpoint=endpoint).stage


def test_the_whole_walk_by_tokens(endpoint: Endpoint, olga: ApiClient, anna: ApiClient) -> None:
    """Gate, request, decision, policy, step back: each with its evidence."""
    gate = olga.get("/endpoints/steady/gate").json()
    assert (gate["stage"], gate["next"], gate["may_be_asked"]) == ("shadow", "read_only", True)
    assert {condition["state"] for condition in gate["conditions"]} == {"met"}
    assert all(condition["words"] for condition in gate["conditions"])

    request = request_promotion(olga)
    assert (request["state"], request["from_stage"], request["to_stage"]) == (
        "pending",
        "shadow",
        "read_only",
    )
    assert (request["requested_by"], request["requested_by_token"]) == ("olga", olga.token.prefix)
    assert len(request["digest"]) == 64
    assert (request["evidence"]["stage"], request["differs"]) == ("shadow", [])
    assert olga.get("/endpoints/steady/gate").json()["pending"] == request["id"]

    decided = anna.post(f"/rollouts/{request['id']}/approve", {"reason": "the figures hold"}).json()
    assert (decided["state"], decided["decided_by"]) == ("approved", "anna")
    assert anna.get("/endpoints/steady/policy").json()["stage"] == "read_only"

    back = anna.post("/endpoints/steady/step-back", {"to": "shadow", "reason": "it deletes files"})
    assert (back.status_code, back.json()["stage"]) == (200, "shadow")
    entries = anna.get("/audit", endpoint="steady").json()["entries"]
    actions = [(entry["action"], entry["actor"]["name"]) for entry in entries]
    assert ("rollout.approved", "anna") in actions
    assert ("rollout.requested", "olga") in actions
    approved = next(entry for entry in entries if entry["action"] == "rollout.approved")
    assert approved["actor"]["token"] == anna.token.prefix
    assert approved["origin"]["via"] == "api"


def test_nobody_approves_what_they_asked_for(endpoint: Endpoint) -> None:
    """A requester cannot approve, neither with the same token nor with another."""
    both = make_person("both", Role.OPERATOR, Role.APPROVER)
    request = request_promotion(token_for(both, "read", "operate", "decide"))
    deciding = token_for(both, "decide")

    refused = deciding.post(f"/rollouts/{request['id']}/approve", REASON)

    assert (refused.status_code, "second person" in read_error(refused)["detail"]) == (409, True)
    assert RolloutRequest.objects.get().state == "pending"
    assert deciding.post(f"/rollouts/{request['id']}/reject", REASON).json()["state"] == "rejected"


def test_what_has_changed_voids_the_request(
    endpoint: Endpoint, olga: ApiClient, anna: ApiClient
) -> None:
    """The error says what changed, and the request stays void, with an Idempotency-Key or not."""
    request = request_promotion(olga)
    Profile.objects.update(capabilities={"parser": {"value": "hermes"}})
    path = f"/rollouts/{request['id']}"
    assert any("hermes" in difference["words"] for difference in anna.get(path).json()["differs"])

    headers = {**anna.headers, "Idempotency-Key": "decide-1"}
    body = '{"reason": "fine"}'
    first, again = (
        anna.client.post(f"/api/v1{path}/approve", body, "application/json", headers=headers)
        for _ in range(2)
    )

    assert (first.status_code, "hermes" in read_error(first)["detail"]) == (409, True)
    assert again.content == first.content
    content = anna.get(path).json()
    assert (content["state"], content["differs"]) == ("voided", [])
    assert any("hermes" in difference["after"] for difference in content["changed"])
    assert stage(endpoint) == "shadow"


def test_who_may_not_decide_any_more_is_refused(
    endpoint: Endpoint, olga: ApiClient, anna: ApiClient
) -> None:
    """A lost role, an expired request, or another person's decision."""
    path = f"/rollouts/{request_promotion(olga)['id']}"
    assert olga.post(f"{path}/approve", REASON).status_code == 403
    grants = Grant.objects.filter(person__username="anna")
    grants.update(role=Role.VIEWER)
    assert anna.post(f"{path}/approve", REASON).status_code == 403
    grants.update(role=Role.APPROVER)
    assert anna.post(f"{path}/approve", {"reason": " "}).status_code == 409

    assert olga.post(f"{path}/withdraw", {}).json()["state"] == "withdrawn"
    late = anna.post(f"{path}/approve", REASON)
    assert (late.status_code, "withdrawn" in read_error(late)["detail"]) == (409, True)

    path = f"/rollouts/{request_promotion(olga)['id']}"
    RolloutRequest.objects.filter(state="pending").update(expires_at=F("requested_at"))
    assert "run out" in read_error(anna.post(f"{path}/approve", REASON))["detail"]
    assert anna.get(path).json()["state"] == "expired"
    assert stage(endpoint) == "shadow"


def test_a_request_that_cannot_be_made_says_why(endpoint: Endpoint, olga: ApiClient) -> None:
    """Unmet conditions, a pending request, or a token without an owner."""
    nobody = tokens.issue_token(name="t", scopes=["operate"], by=None)
    refused = ApiClient(nobody.text, nobody.token).post("/endpoints/steady/rollout", REASON)
    assert (refused.status_code, "a person" in read_error(refused)["detail"]) == (403, True)

    request_promotion(olga)
    assert olga.post("/endpoints/steady/rollout", REASON).status_code == 409
    for _ in range(4):
        measure(endpoint, failures=40)
    gate = olga.get("/endpoints/steady/gate").json()
    assert not gate["may_be_asked"]
    assert "not_met" in {condition["state"] for condition in gate["conditions"]}
    assert olga.post("/endpoints/steady/step-back", {"to": "full", **REASON}).status_code == 409
    assert olga.post("/endpoints/steady/step-back", {"to": "top", **REASON}).status_code == 422
    unknown = olga.post("/endpoints/steady/step-back", {"to": "shadow", "epoch": 99, **REASON})
    assert unknown.status_code == 404


def test_requests_are_listed_by_state_endpoint_and_team(
    endpoint: Endpoint, olga: ApiClient
) -> None:
    """Newest first, page by page, without those of other teams."""
    first = request_promotion(olga)["id"]
    olga.post(f"/rollouts/{first}/withdraw", {})
    second = request_promotion(olga)["id"]

    def ids(api: ApiClient, **query: Any) -> list[int]:
        return [request["id"] for request in api.get("/rollouts", **query).json()["rollouts"]]

    assert ids(olga) == [second, first]
    assert ids(olga, state="pending") == [second]
    assert ids(olga, endpoint="other") == []
    page = olga.get("/rollouts", limit=1).json()
    assert ids(olga, limit=1, cursor=page["next_cursor"]) == [first]

    endpoint.team = Team.objects.create(name="theirs")
    endpoint.save(update_fields=["team"])
    other = make_person("other", Role.APPROVER, team=Team.objects.create(name="ours"))
    foreign = token_for(other, "read", "decide")
    assert ids(foreign) == []
    answers = [
        foreign.get(f"/rollouts/{second}"),
        foreign.post(f"/rollouts/{second}/approve", REASON),
        foreign.post(f"/rollouts/{second}/approve", {}),
        foreign.get("/rollouts/999999"),
    ]
    assert [answer.status_code for answer in answers] == [404] * 4
    assert len({answer.content for answer in answers}) == 1


def test_letting_go_of_a_pinned_mode_takes_two(
    endpoint: Endpoint, olga: ApiClient, anna: ApiClient
) -> None:
    """A pinned mode cannot be turned off directly; one person requests it, another approves."""
    body = {"mode": "no_parallel", "reason": "it mixes up results", "pinned": True}
    switch = olga.post("/endpoints/steady/modes", body).json()
    assert switch["pinned"]
    path = f"/endpoints/steady/modes/{switch['id']}"
    assert olga.delete(path).status_code == 409

    request = olga.post(f"{path}/unpin", REASON).json()
    assert (request["kind"], request["mode"]) == ("unpin", switch["id"])
    assert anna.post(f"/rollouts/{request['id']}/approve", REASON).status_code == 200

    modes = olga.get("/endpoints/steady/modes").json()["modes"]
    assert [mode["mode"] for mode in modes] == []
    assert olga.post(f"{path}/unpin", REASON).status_code == 404


def test_gates_are_changed_by_administrators_one_version_at_a_time(
    endpoint: Endpoint, olga: ApiClient, anna: ApiClient
) -> None:
    """Errors name their location; requests under the old gates become void."""
    root = token_for(User.objects.create_superuser("root"), "read", "decide")
    content = olga.get("/gates").json()
    assert content["version"] is None
    request_promotion(olga)
    gates = content["gates"]
    gates["read_only"]["trials"] = 31
    body = {"version": None, "gates": gates, "reason": "one more"}

    assert anna.send("PUT", "/gates", body).status_code == 403
    assert (
        token_for(User.objects.get(username="root"), "read", "operate")
        .send("PUT", "/gates", body)
        .status_code
        == 403
    )
    wrong = {**gates, "read_only": {**gates["read_only"], "trials": -1}}
    refused = root.send("PUT", "/gates", {**body, "gates": wrong})
    assert read_error(refused)["errors"][0]["field"] == "gates.read_only.trials"
    changed = root.send("PUT", "/gates", body).json()
    assert (changed["gates"]["read_only"]["trials"], changed["by"]) == (31, "root")
    assert root.send("PUT", "/gates", body).status_code == 409

    versions = olga.get("/gates/versions").json()["versions"]
    assert [version["version"] for version in versions] == [changed["version"]]
    assert GateVersion.objects.count() == 1
    assert RolloutRequest.objects.get().state == "voided"


def test_a_stored_version_reads_as_it_is_applied(endpoint: Endpoint) -> None:
    """One from before the condition of an ordinary client says false, and can be sent back."""
    root = token_for(User.objects.create_superuser("root"), "read", "decide")
    body = DEFAULTS.as_json()
    for gate in body.values():
        del gate["ordinary_client"]
    GateVersion.objects.create(body=body, reason="as it was", by=None)

    content = root.get("/gates").json()
    assert {gate["ordinary_client"] for gate in content["gates"].values()} == {False}
    content["gates"]["read_only"]["ordinary_client"] = True
    change = {name: content[name] for name in ("version", "gates")}
    changed = root.send("PUT", "/gates", {**change, "reason": "clients first"})
    assert changed.json()["gates"]["read_only"]["ordinary_client"] is True
    del content["gates"]["read_only"]["ordinary_client"]
    refused = root.send("PUT", "/gates", {**change, "reason": "clients first"})
    assert read_error(refused)["errors"][0]["field"] == "gates.read_only.ordinary_client"


def test_the_log_is_read_by_filters_and_by_who_may(endpoint: Endpoint, olga: ApiClient) -> None:
    """Others see what concerns their endpoints; administrators see people and tokens too."""
    root = token_for(User.objects.create_superuser("root"), "read")
    request_promotion(olga)
    olga.post("/endpoints/steady/modes", {"mode": "no_tools", "reason": "x"})

    entries = olga.get("/audit").json()["entries"]
    assert {entry["endpoint"] for entry in entries} == {"steady"}
    everything = root.get("/audit", limit=200).json()["entries"]
    assert "token.issued" in {entry["action"] for entry in everything}
    assert len(everything) == AuditEntry.objects.count()

    assert {e["action"] for e in olga.get("/audit", action="mode.").json()["entries"]} == {
        "mode.on"
    }
    assert olga.get("/audit", actor="nobody").json()["entries"] == []
    assert olga.get("/audit", until="2020-01-01T00:00:00Z").json()["entries"] == []
    assert olga.get("/audit", action="unheard.of").status_code == 422
    page = olga.get("/audit", limit=1).json()
    assert [entry["id"] for entry in page["entries"]] == [entries[0]["id"]]
    after = olga.get("/audit", limit=1, cursor=page["next_cursor"]).json()
    assert after["entries"][0]["id"] == entries[1]["id"]


def test_people_and_teams_are_for_administrators(olga: ApiClient) -> None:
    """Reading needs the scope read, changing roles the scope decide."""
    root = token_for(User.objects.create_superuser("root"), "read", "decide")
    team = Team.objects.create(name="search")
    person = User.objects.get(username="olga")
    assert [olga.get(path).status_code for path in ("/people", "/teams")] == [403, 403]

    people = root.get("/people").json()["people"]
    assert [(member["name"], member["is_administrator"]) for member in people] == [
        ("olga", False),
        ("root", True),
    ]
    assert people[0]["roles"][0]["role"] == "operator"
    grant = root.post(f"/people/{person.pk}/roles", {"role": "approver", "team": team.pk})
    assert (grant.status_code, grant.json()["team_name"]) == (201, "search")
    assert root.get("/teams").json()["teams"][0]["people"] == 1
    page = root.get("/people", limit=1).json()
    assert root.get("/people", cursor=page["next_cursor"]).json()["people"][0]["name"] == "root"

    own = User.objects.get(username="root").pk
    assert root.post(f"/people/{own}/roles", {"role": "viewer"}).status_code == 409
    assert root.post("/people/999999/roles", {"role": "viewer"}).status_code == 404
    assert (
        root.post(f"/people/{person.pk}/roles", {"role": "viewer", "team": 9**9}).status_code == 404
    )
    assert root.delete(f"/people/{person.pk}/roles/{grant.json()['id']}").status_code == 204
    assert Grant.objects.count() == 1
