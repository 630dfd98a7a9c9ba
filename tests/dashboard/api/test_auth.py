from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db.models.functions import Now
from django.test import Client

from dashboard.models import ApiToken, Run
from dashboard.models.people import Scope
from dashboard.people.services import tokens
from tests.dashboard.api.client import ApiClient, read_error
from tests.factories import make_endpoint

OTHER = "tg_abcdefgh_" + "x" * 43


@pytest.mark.django_db
def test_without_a_token_one_is_asked_for() -> None:
    """The response is JSON that says what to send, not a sign-in page."""
    answer = Client().get("/api/v1/endpoints")

    assert answer.status_code == 401
    assert read_error(answer)["code"] == "unauthorized"
    assert "Authorization: Bearer" in read_error(answer)["detail"]
    assert answer.headers["WWW-Authenticate"].startswith("Bearer ")


@pytest.mark.django_db
@pytest.mark.parametrize(
    "header",
    [
        f"Bearer {OTHER}",
        "Bearer nonsense",
        "Bearer ",
        "Bearer tg_\x00bcdefgh_",
        "Basic YTpi",
        "Bearer " + "x" * 5000,
    ],
    ids=["unknown", "no token", "empty", "nul", "other scheme", "long"],
)
def test_what_is_no_token_is_refused(header: str) -> None:
    """Only a token that the product issued is accepted."""
    answer = Client().get("/api/v1/endpoints", headers={"Authorization": header})

    assert answer.status_code == 401
    assert read_error(answer)["code"] == "unauthorized"


def test_a_wrong_secret_with_a_right_prefix_is_refused(api: ApiClient) -> None:
    """The prefix finds the row; the whole token must match."""
    api.text = api.text[:-1] + ("a" if api.text[-1] != "a" else "b")

    assert api.get("/endpoints").status_code == 401


def test_a_revoked_token_is_refused_and_told_so(api: ApiClient) -> None:
    """Revoking takes effect on the next request."""
    assert api.get("/endpoints").status_code == 200
    tokens.revoke_token(api.token)

    answer = api.get("/endpoints")

    assert answer.status_code == 401
    assert "revoked" in read_error(answer)["detail"]


def test_an_expired_token_is_refused_and_told_so(api: ApiClient) -> None:
    """A token expires by the clock of the database."""
    ApiToken.objects.update(expires_at=Now() - timedelta(seconds=1))

    answer = api.get("/endpoints")

    assert answer.status_code == 401
    assert "expired" in read_error(answer)["detail"]


@pytest.mark.parametrize(
    ("scope", "method", "path", "body"),
    [
        ("read", "GET", "/endpoints", None),
        ("read", "GET", "/endpoints/steady/profiles", None),
        ("read", "GET", "/endpoints/steady/runs", None),
        ("read", "GET", "/endpoints/steady/metrics", None),
        ("read", "GET", "/runs/1", None),
        ("read", "GET", "/runs/1/attempts", None),
        ("read", "GET", "/runs/1/attempts/format/1/evidence", None),
        ("read", "GET", "/runs/1/metrics", None),
        ("read", "GET", "/runs/1/events", None),
        ("probe operate", "POST", "/endpoints/steady/runs", {}),
        ("probe operate", "POST", "/runs/1/cancel", None),
        ("operate", "POST", "/endpoints", {}),
        ("operate", "PATCH", "/endpoints/steady", {}),
        ("operate", "DELETE", "/endpoints/steady", None),
        ("operate", "POST", "/endpoints/steady/notes", {}),
        ("operate", "POST", "/incidents/1/acknowledge", {}),
        ("operate decide", "POST", "/endpoints/steady/modes", {}),
        ("operate decide", "DELETE", "/endpoints/steady/modes/1", None),
        ("decide", "POST", "/incidents/1/release", {}),
        ("decide", "POST", "/incidents/1/accept", {}),
        ("telemetry", "POST", "/telemetry", {}),
    ],
    ids=str,
)
def test_every_operation_needs_its_scope(
    make_client: Callable[..., ApiClient], scope: str, method: str, path: str, body: object
) -> None:
    """All other scopes together are refused, and the message names the right one."""
    make_endpoint()
    opening = scope.split()
    others = [name for name in Scope.values if name not in opening]

    answer = make_client(*others).send(method, path, body)

    assert answer.status_code == 403
    assert all(f"'{name}'" in read_error(answer)["detail"] for name in opening)
    assert f'scope="{opening[0]}"' in answer.headers["WWW-Authenticate"]


def test_a_signed_in_person_may_read(client: Client, person: User) -> None:
    """The pages may use the API for what they show."""
    client.force_login(person)

    assert client.get("/api/v1/endpoints").status_code == 200


def test_a_session_changes_nothing(client: Client, person: User) -> None:
    """A foreign page could send a cookie along; only a token changes things."""
    make_endpoint()
    client.force_login(person)

    answer = client.post("/api/v1/endpoints/steady/runs", {}, content_type="application/json")

    assert answer.status_code == 401
    assert not Run.objects.exists()


def test_a_session_does_not_stand_in_for_a_wrong_token(client: Client, person: User) -> None:
    """A request with a token is judged by the token alone."""
    client.force_login(person)

    answer = client.get("/api/v1/endpoints", headers={"Authorization": f"Bearer {OTHER}"})

    assert answer.status_code == 401


def test_using_a_token_is_noted_at_most_once_a_minute(api: ApiClient) -> None:
    """A busy client does not turn every read into a write."""
    api.get("/endpoints")
    first = ApiToken.objects.get().last_used_at
    assert first is not None

    lately = first + timedelta(hours=1)  # a test may be slow, and this stays lately
    ApiToken.objects.update(last_used_at=lately)
    api.get("/endpoints")
    assert ApiToken.objects.get().last_used_at == lately
    ApiToken.objects.update(last_used_at=first - timedelta(minutes=2))
    api.get("/endpoints")

    last = ApiToken.objects.get().last_used_at
    assert last is not None
    assert last >= first
