from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from dashboard.models.people import Role, Scope
from dashboard.people.services import tokens
from tests.dashboard.api.client import Asking
from tests.dashboard.api.web_process import Site, serve
from tests.factories import make_person


@pytest.fixture(autouse=True)
def _static_files(static_files: Path) -> None:
    """The middleware that serves them looks for their folder."""


@pytest.fixture
def person(db: None) -> User:
    return make_person("alice", Role.OPERATOR, Role.APPROVER)


@pytest.fixture
def asking(person: User) -> Callable[..., Asking]:
    """A client of the API with a token of the given scopes."""

    def make(*scopes: str) -> Asking:
        made = tokens.issue_token(name="a script", scopes=scopes or Scope.values, by=person)
        return Asking(made.text, made.token)

    return make


@pytest.fixture
def api(asking: Callable[..., Asking]) -> Asking:
    """A client of the API that may do everything."""
    return asking()


@pytest.fixture(scope="module")
def site(
    django_db_setup: None, static_files: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """The web process as it runs, with few database connections for many readers."""
    with serve(tmp_path_factory.mktemp("site") / "web.log") as found:
        yield found
