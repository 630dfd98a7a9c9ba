"""Noting that a recurring duty was done, and keeping rare ones rare."""

from __future__ import annotations

from datetime import timedelta

from django.db.models.functions import Now

from dashboard.models import Pulse

BEAT = "beat"  # a beat's message arrived and was carried out
LOOK_AROUND = "look around"
ROLL_UP = "roll up"
LIVE_WATCH = "live watch"
RETENTION = "retention"


def note(duty: str) -> None:
    """Remember that the duty was done just now."""
    Pulse.objects.bulk_create(
        [Pulse(duty=duty, at=Now())],
        update_conflicts=True,
        unique_fields=["duty"],
        update_fields=["at"],
    )


def take_turn(duty: str, *, every: timedelta) -> bool:
    """Whether the duty falls to the caller: to one of all callers in each span of time."""
    created = Pulse.objects.bulk_create(
        [Pulse(duty=duty, at=Now() - 2 * every)], ignore_conflicts=True
    )
    assert created
    return bool(Pulse.objects.filter(duty=duty, at__lte=Now() - every).update(at=Now()))
