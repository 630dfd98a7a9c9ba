"""The outbox: writing a notice in the transaction that it tells about."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db.models.functions import Now

from dashboard.models import Endpoint, Incident, Notice


def put_notice(
    kind: Notice.Kind,
    *,
    endpoint: Endpoint | None,
    body: Mapping[str, Any],
    incident: Incident | None = None,
    at: datetime | None = None,
) -> Notice:
    """Have something told. `body` has a title, a text and what the title rests on; no secrets."""
    return Notice.objects.create(
        kind=kind, endpoint=endpoint, incident=incident, body=dict(body), at=at or Now()
    )
