"""The outbox: a notice is written in the transaction of its event."""

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
    """Queue a notice. `body` has a title, a text and the figures behind it, without secrets."""
    return Notice.objects.create(
        kind=kind, endpoint=endpoint, incident=incident, body=dict(body), at=at or Now()
    )
