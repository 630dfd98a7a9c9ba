"""Stores the exchanges of the gateway: each batch once, as observations and as counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from dashboard.models import Profile
from dashboard.models.observation import Observation
from dashboard.runs import observations
from dashboard.runs.observations import LIVE
from probes.messages import Stop

_END_REASONS = {stop.value: number for number, stop in enumerate(Stop)}


@transaction.atomic
def store_exchanges(batch: UUID, events: Sequence[Mapping[str, Any]]) -> bool:
    """Store a batch of exchanges; False if it was stored before.

    Exchanges of a profile that is gone are left out.
    """
    known = set(
        Profile.objects.filter(pk__in={event["profile"] for event in events}).values_list(
            "pk", flat=True
        )
    )
    rows = [row for event in events if event["profile"] in known for row in _observations(event)]
    return observations.store_batch(rows, batch=batch)


def _observations(event: Mapping[str, Any]) -> Iterator[Observation]:
    """One row per exchange, and further ones for metrics with several trials."""
    for number, verdicts in enumerate(event["verdicts"] or [0]):
        row = Observation(
            profile_id=event["profile"],
            key_epoch=event["epoch"],
            lane=LIVE,
            verdicts=verdicts,
            event_at=datetime.fromisoformat(event["at"]),
            client_id=event["token"],
            policy_version=event["policy"],
            request_id=UUID(event["id"]),
        )
        yield row._replace(**_figures(event)) if number == 0 else row


def _figures(event: Mapping[str, Any]) -> dict[str, Any]:
    end = event["end"]
    return {
        "latency_ms": event["latency_ms"],
        "first_byte_ms": event["first_byte_ms"],
        "input_tokens": event["input_tokens"],
        "output_tokens": event["output_tokens"],
        "http_status": event["status"],
        "end_reason": _END_REASONS.get(end) if end else None,
    }
