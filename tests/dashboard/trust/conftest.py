from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from dashboard.endpoints.services import endpoints
from dashboard.models import Endpoint
from dashboard.models.people import Role
from tests.dashboard.runs.conftest import FIELDS
from tests.dashboard.trust.builders import NOT_REFUSED, Past
from tests.factories import make_person


@pytest.fixture
def endpoint(db: None) -> Endpoint:
    return endpoints.create(**FIELDS)


@pytest.fixture
def past(endpoint: Endpoint) -> Past:
    """An endpoint that has accepted closed histories once."""
    past = Past(endpoint)
    past.run(NOT_REFUSED)
    return past


@pytest.fixture
def ann(db: None) -> User:
    return make_person("ann", Role.APPROVER)
