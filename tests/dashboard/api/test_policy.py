from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dashboard.endpoints.services import endpoints
from dashboard.policy.schemas import PolicyOut
from dashboard.trust import modes, tool_rules
from health.modes import Mode
from health.risk import Risk
from tests.dashboard.api.client import ApiClient, read_error
from tests.dashboard.policy.builders import make_trusted_endpoint, move_into_past
from tests.factories import make_endpoint

PATH = "/endpoints/steady/policy"


def status_with_etag(api: ApiClient, etag: str) -> int:
    """The status of a conditional request."""
    headers = {**api.headers, "If-None-Match": etag}
    return int(api.client.get(f"/api/v1{PATH}", headers=headers).status_code)


def test_the_policy_comes_with_its_version_as_an_etag(api: ApiClient) -> None:
    """The response matches the schema of the document."""
    make_trusted_endpoint()

    answer = api.get(PATH)

    policy = PolicyOut.model_validate(answer.json())
    assert answer.status_code == 200
    assert answer.headers["ETag"] == f'"{policy.version}"'
    assert answer.headers["Cache-Control"] == "private, no-cache"
    assert policy.model_dump(mode="json", by_alias=True)["risk"] == answer.json()["risk"]


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ('"{}"', 304),
        ('W/"{}"', 304),
        ('"1234", "{}"', 304),
        ("*", 304),
        ('"0{}"', 200),
        ("{}", 200),
        ("", 200),
    ],
)
def test_what_the_caller_has_is_not_sent_again(api: ApiClient, sent: str, status: int) -> None:
    """Weak tags, lists and the star work as in HTTP; anything else gets the policy."""
    make_trusted_endpoint()
    version = api.get(PATH).json()["version"]

    assert status_with_etag(api, sent.format(version)) == status


def test_not_modified_has_no_body_and_the_same_headers(api: ApiClient) -> None:
    """A cache in between stays correct."""
    make_trusted_endpoint()
    etag = api.get(PATH).headers["ETag"]

    headers = {**api.headers, "If-None-Match": etag}
    answer = api.client.get(f"/api/v1{PATH}", headers=headers)

    assert (answer.status_code, answer.content) == (304, b"")
    assert answer.headers["ETag"] == etag
    assert answer.headers["Cache-Control"] == "private, no-cache"


def test_not_modified_costs_four_small_rows(api: ApiClient) -> None:
    """Four statements: the token, its rights, the endpoint's team, and the policy."""
    make_trusted_endpoint()
    etag = api.get(PATH).headers["ETag"]

    with CaptureQueriesContext(connection) as sent:
        assert status_with_etag(api, etag) == 304

    tables = [query["sql"].split(" FROM ")[1].split()[0] for query in sent]
    rights = ['"dashboard_grant"', '"dashboard_endpoint"']
    assert tables == ['"dashboard_apitoken"', *rights, '"dashboard_policy"']


def test_a_change_ends_not_modified(api: ApiClient) -> None:
    """The next request sees changes of modes and rules, and expired modes."""
    endpoint = make_trusted_endpoint()
    changes: list[Callable[[], object]] = [
        lambda: modes.switch_on(endpoint.profile, Mode.NO_PARALLEL, by=None, reason="trying"),
        lambda: tool_rules.add_rule(pattern="a", risk=Risk.READ, by=None),
        lambda: move_into_past(2 * endpoint.ttl),
    ]

    for change in changes:
        etag = api.get(PATH).headers["ETag"]
        assert status_with_etag(api, etag) == 304
        change()
        assert status_with_etag(api, etag) == 200


def test_the_policy_needs_the_scope_to_read(make_client: Callable[..., ApiClient]) -> None:
    """A token for telemetry cannot read the policy."""
    make_endpoint()

    assert make_client("read").get(PATH).status_code == 200
    assert make_client("telemetry", "operate").get(PATH).status_code == 403


def test_there_is_no_policy_of_what_is_not_there(api: ApiClient) -> None:
    """Unknown and removed endpoints are not found."""
    assert read_error(api.get(PATH))["code"] == "not_found"
    endpoints.remove(make_endpoint())
    assert read_error(api.get(PATH))["code"] == "not_found"
    assert api.get(f"{PATH}/versions").status_code == 404


def test_what_held_before_is_listed_newest_first(api: ApiClient) -> None:
    """Page by page, each version as it was returned then."""
    endpoint = make_trusted_endpoint()
    switch = modes.switch_on(endpoint.profile, Mode.NO_TOOLS, by=None, reason="trying")
    modes.switch_off(switch, by=None)

    first = api.get(f"{PATH}/versions", limit=3).json()
    rest = api.get(f"{PATH}/versions", cursor=first["next_cursor"]).json()

    listed = [*first["versions"], *rest["versions"]]
    assert [v["policy"]["modes"]["effective"] for v in listed][:2] == [[], ["no_tools"]]
    assert [len(first["versions"]), len(rest["versions"]), rest["next_cursor"]] == [3, 1, None]
    versions = [v["version"] for v in listed]
    assert versions == sorted(versions, reverse=True)
    assert listed[0]["policy"] == api.get(PATH).json()


def test_tool_rules_are_listed_with_the_known_tools(api: ApiClient) -> None:
    """A program that enforces a policy can classify tools as the product does."""
    tool_rules.add_rule(pattern="deploy_*", risk=Risk.WRITE, note="ours", by=None)

    body = api.get("/tool-rules").json()

    assert body["rules"] == [{"pattern": "deploy_*", "risk": "write", "note": "ours"}]
    bash = {"pattern": "Bash", "risk": "dangerous", "note": "", "agent": "Claude Code"}
    assert bash in body["defaults"]["rules"]
    assert body["defaults"]["version"] == "v1"
