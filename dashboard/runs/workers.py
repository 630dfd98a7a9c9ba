"""Which workers are alive, as Postgres sees it."""

from __future__ import annotations

from datetime import timedelta

from django.db.models.functions import Now

from dashboard.models import Worker
from probes.suite import SUITE_VERSION

FORGET_AFTER = timedelta(days=1)
ALIVE_WITHIN = timedelta(seconds=90)


def seen(name: str) -> None:
    """Note that this worker has just looked for work."""
    if not Worker.objects.filter(name=name).update(seen_at=Now(), suite_version=SUITE_VERSION):
        Worker.objects.bulk_create(
            [Worker(name=name, suite_version=SUITE_VERSION)], ignore_conflicts=True
        )
        Worker.objects.filter(seen_at__lt=Now() - FORGET_AFTER).delete()


def alive(*, within: timedelta = ALIVE_WITHIN, host: str = "") -> int:
    """How many workers, of one host or of all, were seen within the given time."""
    return Worker.objects.filter(
        name__startswith=f"{host}:" if host else "", seen_at__gte=Now() - within
    ).count()


def suite_versions() -> set[str]:
    """The suites that living workers have."""
    living = Worker.objects.filter(seen_at__gte=Now() - ALIVE_WITHIN)
    return set(living.values_list("suite_version", flat=True))
