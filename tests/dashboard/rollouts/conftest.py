from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from dashboard.models import Endpoint
from dashboard.models.people import Role
from tests.dashboard.rollouts.builders import ready
from tests.factories import make_person
from tests.security.people import AuditStart


@pytest.fixture
def ann(db: None) -> User:
    """Asks."""
    return make_person("ann", Role.OPERATOR)


@pytest.fixture
def bea(db: None) -> User:
    """Decides."""
    return make_person("bea", Role.APPROVER)


@pytest.fixture
def endpoint(db: None) -> Endpoint:
    """In shadow, and good enough for tools that read."""
    return ready()


@pytest.fixture(autouse=True)
def log_begins(request: pytest.FixtureRequest) -> None:
    """What other tests did stays in the audit log: nobody can take it out."""
    if "db" in request.fixturenames:
        request.getfixturevalue("db")
        AuditStart.begin()
