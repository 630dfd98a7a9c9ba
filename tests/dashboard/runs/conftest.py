from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from dashboard.endpoints.services import endpoints
from dashboard.models import Endpoint

FIELDS: dict[str, Any] = {
    "slug": "one",
    "provider": "openai",
    "base_url": "http://127.0.0.1:9/v1",
    "model": "m",
    "options": {},
    "ttl": timedelta(hours=6),
    "max_concurrency": 2,
    "enabled": True,
    "key": None,
    "onboarding_runs": 1,
}


@pytest.fixture
def endpoint(db: None) -> Endpoint:
    return endpoints.create(**FIELDS)
