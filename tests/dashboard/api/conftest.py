from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from dashboard.models.people import Role, Scope
from dashboard.people.services import tokens
from tests.dashboard.api.client import ApiClient
from tests.dashboard.api.web_process import Site, start_site
from tests.factories import make_person


@pytest.fixture(autouse=True)
def _static_files(static_files: Path) -> None:
    """The middleware that serves static files needs their folder."""


@pytest.fixture
def person(db: None) -> User:
    return make_person("alice", Role.OPERATOR, Role.APPROVER)


@pytest.fixture
def make_client(person: User) -> Callable[..., ApiClient]:
    """Creates a client of the API with a token of the given scopes."""

    def make(*scopes: str) -> ApiClient:
        issued = tokens.issue_token(name="a script", scopes=scopes or Scope.values, by=person)
        return ApiClient(issued.text, issued.token)

    return make


@pytest.fixture
def api(make_client: Callable[..., ApiClient]) -> ApiClient:
    """A client of the API that may do everything."""
    return make_client()


@pytest.fixture(scope="module")
def site(
    django_db_setup: None, static_files: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """A real web process with few database connections for many readers."""
    with start_site(tmp_path_factory.mktemp("site") / "web.log") as site:
        yield site
