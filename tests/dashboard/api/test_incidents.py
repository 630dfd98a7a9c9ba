from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dashboard.endpoints.services import endpoints
from dashboard.models import Incident
from dashboard.models.watch import Lane
from tests.dashboard.api.client import ApiClient, read_error
from tests.dashboard.api.incidents import make_incident, switch_modes_on
from tests.dashboard.policy.builders import make_trusted_endpoint
from tests.factories import make_endpoint

NOTE = {"note": "The vendor has told us."}


def ids(api: ApiClient, **query: object) -> list[int]:
    return [incident["id"] for incident in api.get("/incidents", **query).json()["incidents"]]


def test_incidents_are_listed_newest_first_and_narrowed_down(api: ApiClient) -> None:
    """By state and by endpoint, page by page; without those of removed endpoints."""
    one, other, removed = (make_endpoint(slug=slug) for slug in ("one", "other", "gone"))
    first = make_incident(one)
    ended = make_incident(
        one, metric="leak", state="recovered", ended_at=first.opened_at, opened_by=2
    )
    second = make_incident(other)
    make_incident(removed)
    endpoints.remove(removed)

    assert ids(api) == [second.pk, ended.pk, first.pk]
    assert ids(api, state="open") == [second.pk, first.pk]
    assert ids(api, endpoint="one") == [ended.pk, first.pk]
    page = api.get("/incidents", limit=2).json()
    assert ids(api, cursor=page["next_cursor"]) == [first.pk]
    assert api.get("/incidents", state="bad").status_code == 422


def test_a_longer_list_costs_no_further_statements(api: ApiClient) -> None:
    """The token, its owner's roles, the incidents: one statement each, however many there are."""
    endpoint = make_endpoint()
    for metric in ("leak", "closure_error", "parse_success"):
        make_incident(endpoint, metric=metric)
    ids(api)

    with CaptureQueriesContext(connection) as sent:
        assert len(ids(api)) == 3

    assert len(sent) == 3


def test_an_incident_tells_what_happened_and_what_it_switched_on(api: ApiClient) -> None:
    """The sentence, the figures, the events and the modes."""
    incident = make_incident(make_trusted_endpoint())
    switch_modes_on(incident)
    api.post(f"/incidents/{incident.pk}/acknowledge", NOTE)

    body = api.get(f"/incidents/{incident.pk}").json()

    assert body["headline"] == "Parse success fell from 98% to 55%"
    assert (body["endpoint"], body["lane"], body["severity"]) == ("steady", "probe", 2)
    assert {switch["mode"] for switch in body["switches"]} == {
        "strong_validation",
        "no_streaming_tools",
        "read_only_tools",
    }
    assert [(e["kind"], e["by"], e["note"]) for e in body["events"]] == [
        ("acknowledged", "alice", NOTE["note"])
    ]


def test_an_incident_is_acknowledged_once(api: ApiClient) -> None:
    """The first person stays recorded; a second time is no error."""
    incident = make_incident(make_endpoint())

    first = api.post(f"/incidents/{incident.pk}/acknowledge", NOTE).json()
    second = api.post(f"/incidents/{incident.pk}/acknowledge", {}).json()

    assert first["acknowledged_by"] == "alice"
    assert first == second


def test_a_severe_incident_is_released(api: ApiClient) -> None:
    """With a note; without one it is refused."""
    incident = make_incident(make_endpoint(), severity=3, worst=3, release_wanted=True)
    address = f"/incidents/{incident.pk}/release"

    assert api.post(address, {}).status_code == 409
    assert api.post(address, NOTE).json()["release_wanted"] is False


def test_the_new_normal_is_accepted(api: ApiClient) -> None:
    """The incident and its modes end, and the policy shows that the baseline is new."""
    endpoint = make_trusted_endpoint()
    incident = make_incident(endpoint)
    switch_modes_on(incident)

    body = api.post(f"/incidents/{incident.pk}/accept", NOTE).json()

    assert (body["state"], body["ended_at"] is not None) == ("accepted", True)
    assert all(switch["off_at"] for switch in body["switches"])
    policy = api.get("/endpoints/steady/policy").json()
    assert (policy["modes"]["automatic"], policy["baseline"]) == ([], "none")
    assert api.post(f"/incidents/{incident.pk}/accept", NOTE).status_code == 409


def test_live_incidents_are_not_accepted(api: ApiClient) -> None:
    """Live traffic has no baseline of runs to reset."""
    incident = make_incident(make_endpoint(), lane=Lane.LIVE)

    answer = api.post(f"/incidents/{incident.pk}/accept", NOTE)

    assert (answer.status_code, Incident.objects.get().state) == (409, "open")


@pytest.mark.parametrize("act", ["acknowledge", "release", "accept"])
def test_deciding_needs_the_scope_to_write(make_client: Callable[..., ApiClient], act: str) -> None:
    """Reading shows everything and changes nothing."""
    incident = make_incident(make_endpoint())
    reader = make_client("read", "probe", "telemetry")

    assert reader.get(f"/incidents/{incident.pk}").status_code == 200
    assert reader.post(f"/incidents/{incident.pk}/{act}", NOTE).status_code == 403


@pytest.mark.parametrize("act", ["", "/acknowledge", "/release", "/accept"])
def test_an_unknown_incident_is_not_found(api: ApiClient, act: str) -> None:
    """Every operation on an unknown incident answers 404."""
    answer = api.post(f"/incidents/77{act}", NOTE) if act else api.get("/incidents/77")

    assert read_error(answer)["code"] == "not_found"
