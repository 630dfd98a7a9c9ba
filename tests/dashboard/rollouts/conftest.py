from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from dashboard.models import Endpoint
from dashboard.models.people import Role
from tests.dashboard.rollouts.builders import make_ready_endpoint
from tests.factories import make_person
from tests.security.people import AuditStart


@pytest.fixture
def ann(db: None) -> User:
    """Makes requests."""
    return make_person("ann", Role.OPERATOR)


@pytest.fixture
def bea(db: None) -> User:
    """Decides on requests."""
    return make_person("bea", Role.APPROVER)


@pytest.fixture
def endpoint(db: None) -> Endpoint:
    """In shadow, and meets the gate of read_only."""
    return make_ready_endpoint()


@pytest.fixture(autouse=True)
def audit_log_start(request: pytest.FixtureRequest) -> None:
    """Ignore the audit entries of other tests, which cannot be deleted."""
    if "db" in request.fixturenames:
        request.getfixturevalue("db")
        AuditStart.begin()
