from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from dashboard.core import encryption
from dashboard.endpoints.services import endpoints
from dashboard.live.snapshot import (
    read_mark,
    read_snapshot,
    snapshot_from_json,
    snapshot_to_json,
)
from dashboard.models import ApiToken, Endpoint, Team
from dashboard.models.people import Grant, Role
from dashboard.people.services import tokens
from dashboard.trust import modes
from health.modes import Mode
from probes.secret import Secret
from tests.dashboard.policy.builders import make_trusted_endpoint
from tests.factories import make_endpoint, make_person

pytestmark = pytest.mark.django_db(transaction=True)


def issue(by: User | None = None, *, scope: str = "gateway", **over: Any) -> ApiToken:
    fields: dict[str, Any] = {"name": "agent", "scopes": [scope], "by": by, **over}
    return tokens.issue_token(**fields).token


def test_a_snapshot_has_the_target_policy_and_key_in_force() -> None:
    """Everything that a request needs, and the key only in its sealed form."""
    endpoint = make_trusted_endpoint(key=Secret("sk-planted"))
    found = read_snapshot().endpoints["steady"]

    assert (found.url, found.model, found.provider) == ("http://127.0.0.1:9/v1", "m-1", "openai")
    assert found.policy["stage"] == "full"
    assert found.profile_id == endpoint.profile.pk
    assert found.key is not None
    assert b"sk-planted" not in found.key.sealed
    assert encryption.decrypt_secret(found.key.sealed, found.key.bound_to) == Secret("sk-planted")


def test_only_living_tokens_with_the_scope_are_in_it() -> None:
    kept = issue(lasts=timedelta(days=1))
    issue(scope="read")
    tokens.revoke_token(issue())
    gone = make_person("gone", Role.OPERATOR)
    issue(gone)
    User.objects.filter(pk=gone.pk).update(is_active=False)

    assert list(read_snapshot().tokens) == [kept.prefix]


def test_a_token_is_held_to_the_teams_of_its_owner() -> None:
    """An endpoint of another team, or of none, is not its own."""
    mine, other = Team.objects.create(name="mine"), Team.objects.create(name="other")
    token = issue(make_person("ann", Role.OPERATOR, team=mine))
    for slug, team in (("a", mine), ("b", other), ("c", None)):
        make_endpoint(slug=slug, team=team)
    snapshot = read_snapshot()

    held = snapshot.tokens[token.prefix]
    assert [slug for slug, each in snapshot.endpoints.items() if held.may_use(each)] == ["a"]


def change_options(endpoint: Endpoint) -> None:
    Endpoint.objects.filter(pk=endpoint.pk).update(options={"seed": 1}, updated_at=timezone.now())


def switch_tools_off(endpoint: Endpoint) -> None:
    modes.switch_on(endpoint.profile, Mode.NO_TOOLS, reason="a test", by=None)


CHANGES: list[Callable[[Endpoint], object]] = [
    switch_tools_off,
    endpoints.remove,
    change_options,
    lambda endpoint: issue(),
    lambda endpoint: tokens.revoke_token(ApiToken.objects.get()),
    lambda endpoint: User.objects.update(is_active=False),
    lambda endpoint: Grant.objects.all().delete(),
]


@pytest.mark.parametrize("change", CHANGES)
def test_the_mark_changes_with_everything_that_a_snapshot_holds(
    change: Callable[[Endpoint], object],
) -> None:
    endpoint = make_trusted_endpoint()
    issue(make_person("ann", Role.OPERATOR))
    before = read_mark()
    assert read_mark() == before

    change(endpoint)
    assert read_mark() != before


def test_a_snapshot_survives_its_copy() -> None:
    make_trusted_endpoint(key=Secret("sk-planted"))
    issue(make_person("ann", Role.OPERATOR), lasts=timedelta(days=1))
    snapshot = read_snapshot()

    assert snapshot_from_json(snapshot_to_json(snapshot)) == snapshot
