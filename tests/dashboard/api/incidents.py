"""An incident without the runs that would cause it."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from dashboard.models import Endpoint, Incident
from dashboard.trust import modes


def make_incident(endpoint: Endpoint, **over: Any) -> Incident:
    figures = {"trials": 20, "failures": 9, "baseline": [196, 200, 20], "estimate": 0.55}
    fields: dict[str, Any] = {
        "profile": endpoint.profile,
        "metric": "parse_success",
        "severity": 2,
        "worst": 2,
        "figures": figures,
        "opened_at": timezone.now(),
        "opened_by": 1,
    }
    return Incident.objects.create(**{**fields, **over})


def switch_modes_on(incident: Incident) -> None:
    """Turn on the modes of the incident."""
    modes.apply_incident(
        incident, reason="it fell", figures={}, at=incident.opened_at, tighten=True
    )
