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
from tests.dashboard.api.client import Asking, error_of
from tests.dashboard.policy.builders import make_trusted_endpoint, move_into_past
from tests.factories import make_endpoint

PATH = "/endpoints/steady/policy"


def known(api: Asking, etag: str) -> int:
    """The status of asking for what one has already."""
    headers = {**api.headers, "If-None-Match": etag}
    return int(api.client.get(f"/api/v1{PATH}", headers=headers).status_code)


def test_the_policy_comes_with_its_version_as_an_etag(api: Asking) -> None:
    """The answer has the shape that the document promises."""
    make_trusted_endpoint()

    answer = api.get(PATH)

    found = PolicyOut.model_validate(answer.json())
    assert answer.status_code == 200
    assert answer.headers["ETag"] == f'"{found.version}"'
    assert answer.headers["Cache-Control"] == "private, no-cache"
    assert found.model_dump(mode="json", by_alias=True)["risk"] == answer.json()["risk"]


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
def test_what_the_caller_has_is_not_sent_again(api: Asking, sent: str, status: int) -> None:
    """Weak tags, lists and the star count as they do everywhere; anything else gets the answer."""
    make_trusted_endpoint()
    version = api.get(PATH).json()["version"]

    assert known(api, sent.format(version)) == status


def test_not_modified_has_no_body_and_the_same_headers(api: Asking) -> None:
    """A cache between us and the caller stays right."""
    make_trusted_endpoint()
    etag = api.get(PATH).headers["ETag"]

    headers = {**api.headers, "If-None-Match": etag}
    answer = api.client.get(f"/api/v1{PATH}", headers=headers)

    assert (answer.status_code, answer.content) == (304, b"")
    assert answer.headers["ETag"] == etag
    assert answer.headers["Cache-Control"] == "private, no-cache"


def test_not_modified_costs_four_small_rows(api: Asking) -> None:
    """Four statements: who asks, what they may, whose it is, and what holds."""
    make_trusted_endpoint()
    etag = api.get(PATH).headers["ETag"]

    with CaptureQueriesContext(connection) as sent:
        assert known(api, etag) == 304

    tables = [query["sql"].split(" FROM ")[1].split()[0] for query in sent]
    rights = ['"dashboard_grant"', '"dashboard_endpoint"']
    assert tables == ['"dashboard_apitoken"', *rights, '"dashboard_policy"']


def test_a_change_ends_not_modified(api: Asking) -> None:
    """Modes, rules and the passing of time are all seen by the next question."""
    endpoint = make_trusted_endpoint()
    changes: list[Callable[[], object]] = [
        lambda: modes.switch_on(endpoint.profile, Mode.NO_PARALLEL, by=None, reason="trying"),
        lambda: tool_rules.add_rule(pattern="a", risk=Risk.READ, by=None),
        lambda: move_into_past(2 * endpoint.ttl),
    ]

    for change in changes:
        etag = api.get(PATH).headers["ETag"]
        assert known(api, etag) == 304
        change()
        assert known(api, etag) == 200


def test_the_policy_needs_the_scope_to_read(asking: Callable[..., Asking]) -> None:
    """A token for telemetry does not open it."""
    make_endpoint()

    assert asking("read").get(PATH).status_code == 200
    assert asking("telemetry", "operate").get(PATH).status_code == 403


def test_there_is_no_policy_of_what_is_not_there(api: Asking) -> None:
    """Unknown and removed endpoints are not found."""
    assert error_of(api.get(PATH))["code"] == "not_found"
    endpoints.remove(make_endpoint())
    assert error_of(api.get(PATH))["code"] == "not_found"
    assert api.get(f"{PATH}/versions").status_code == 404


def test_what_held_before_is_listed_newest_first(api: Asking) -> None:
    """Page by page, each as it was answered then."""
    endpoint = make_trusted_endpoint()
    switch = modes.switch_on(endpoint.profile, Mode.NO_TOOLS, by=None, reason="trying")
    modes.switch_off(switch, by=None)

    first = api.get(f"{PATH}/versions", limit=3).json()
    rest = api.get(f"{PATH}/versions", cursor=first["next_cursor"]).json()

    shown = [*first["versions"], *rest["versions"]]
    assert [v["policy"]["modes"]["effective"] for v in shown][:2] == [[], ["no_tools"]]
    assert [len(first["versions"]), len(rest["versions"]), rest["next_cursor"]] == [3, 1, None]
    versions = [v["version"] for v in shown]
    assert versions == sorted(versions, reverse=True)
    assert shown[0]["policy"] == api.get(PATH).json()


def test_tool_rules_are_listed_with_the_known_tools(api: Asking) -> None:
    """Whoever enforces a policy elsewhere can class tools as we do."""
    tool_rules.add_rule(pattern="deploy_*", risk=Risk.WRITE, note="ours", by=None)

    body = api.get("/tool-rules").json()

    assert body["rules"] == [{"pattern": "deploy_*", "risk": "write", "note": "ours"}]
    bash = {"pattern": "Bash", "risk": "dangerous", "note": "", "agent": "Claude Code"}
    assert bash in body["defaults"]["rules"]
    assert body["defaults"]["version"] == "v1"
