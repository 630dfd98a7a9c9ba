from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.models.people import Role
from tests.factories import make_person


@pytest.fixture(autouse=True)
def _hashed_files(static_files: Path) -> None:
    """Pages link to static files by their hash."""


@pytest.fixture
def person(db: None) -> User:
    return make_person("alice", Role.OPERATOR)


@pytest.fixture
def signed_in(client: Client, person: User) -> Client:
    client.force_login(person)
    return client
