"""Records heartbeats of workers in Postgres, and counts the live ones."""

from __future__ import annotations

from datetime import timedelta

from django.db.models.functions import Now

from dashboard.models import Worker
from probes.suite import SUITE_VERSION

FORGET_AFTER = timedelta(days=1)
ALIVE_WITHIN = timedelta(seconds=90)


def record_heartbeat(name: str) -> None:
    """Record that this worker is alive; deletes workers not seen for a day."""
    if not Worker.objects.filter(name=name).update(seen_at=Now(), suite_version=SUITE_VERSION):
        Worker.objects.bulk_create(
            [Worker(name=name, suite_version=SUITE_VERSION)], ignore_conflicts=True
        )
        Worker.objects.filter(seen_at__lt=Now() - FORGET_AFTER).delete()


def count_alive(*, within: timedelta = ALIVE_WITHIN, host: str = "") -> int:
    """The number of workers, of one host or of all, that were seen recently."""
    return Worker.objects.filter(
        name__startswith=f"{host}:" if host else "", seen_at__gte=Now() - within
    ).count()


def read_suite_versions() -> set[str]:
    """The suite versions of live workers."""
    alive = Worker.objects.filter(seen_at__gte=Now() - ALIVE_WITHIN)
    return set(alive.values_list("suite_version", flat=True))
