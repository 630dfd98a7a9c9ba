"""Which workers are alive, as Postgres sees it."""

from __future__ import annotations

from datetime import timedelta

from django.db.models.functions import Now

from dashboard.models import Worker

FORGET_AFTER = timedelta(days=1)


def seen(name: str) -> None:
    """Note that this worker has just looked for work."""
    if not Worker.objects.filter(name=name).update(seen_at=Now()):
        Worker.objects.bulk_create([Worker(name=name)], ignore_conflicts=True)
        Worker.objects.filter(seen_at__lt=Now() - FORGET_AFTER).delete()


def alive(*, within: timedelta, host: str = "") -> int:
    """How many workers, of one host or of all, were seen within the given time."""
    return Worker.objects.filter(
        name__startswith=f"{host}:" if host else "", seen_at__gte=Now() - within
    ).count()
