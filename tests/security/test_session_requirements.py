"""A session that must set something up first cannot read by the API what no page shows it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.models import DrawnPassword
from dashboard.models.people import Role, Scope
from dashboard.people.services import tokens
from tests.factories import make_person
from tests.security.people import add_app
from tests.security.rights_walk_api import list_operations

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("static_files")]
METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")


def session_of(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


@pytest.fixture
def bob(settings: Any) -> User:
    """An approver without a second factor, which approvers must have."""
    settings.REQUIRE_SECOND_FACTOR = frozenset({"approver"})
    return make_person("bob", Role.APPROVER)


@pytest.fixture
def root() -> User:
    """The first administrator, who has not changed the printed password."""
    root = User.objects.create_superuser("root", password="printed at the first start")
    DrawnPassword.objects.create(person=root, stored=root.password)
    return root


@pytest.mark.parametrize(
    ("name", "code", "what"),
    [("bob", "second_factor_required", "/settings/security/"),
     ("root", "password_change_required", "/settings/password/")],
)  # fmt: skip
def test_the_api_refuses_and_says_what_to_do(
    request: pytest.FixtureRequest, name: str, code: str, what: str
) -> None:
    """403 as problem+json with a code of its own, at which a person can look without a session."""
    client = session_of(request.getfixturevalue(name))

    answer = client.get("/api/v1/endpoints")

    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (403, code)
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert what in problem["detail"]
    assert client.get(problem["type"]).json()["code"] == code


@pytest.mark.parametrize("name", ["bob", "root"])
def test_no_operation_answers_by_any_method(request: pytest.FixtureRequest, name: str) -> None:
    """Every path of the API by every method gives such a session no more than a visitor gets."""
    person, visitor = session_of(request.getfixturevalue(name)), Client()
    paths = sorted({re.sub(r"{\w+}", "1", each.path) for each in list_operations()})
    requests = [(method, path) for path in paths for method in METHODS]

    answers = {each: person.generic(*each).status_code for each in requests}
    to_visitors = {each: visitor.generic(*each).status_code for each in requests}

    assert {each: status for each, status in answers.items()
            if status not in {403, to_visitors[each]}} == {}  # fmt: skip
    assert list(answers.values()).count(403) > 20


def test_the_session_reads_again_afterwards(bob: User, root: User) -> None:
    """A factor or a new password opens the API; tokens were never closed."""
    assert session_of(bob).get("/api/v1/endpoints").status_code == 403
    issued = tokens.issue_token(name="ci", scopes=[Scope.READ], by=bob)
    by_token = {"Authorization": f"Bearer {issued.text}"}
    assert session_of(bob).get("/api/v1/endpoints", headers=by_token).status_code == 200

    add_app(bob)
    root.set_password("chosen by its owner")
    root.save()

    assert session_of(bob).get("/api/v1/endpoints").status_code == 200
    assert session_of(root).get("/api/v1/endpoints").status_code == 200
