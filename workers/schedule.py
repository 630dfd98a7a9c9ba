"""The beat table. Every worker keeps the same schedule by its own timer (workers/timer.py)."""

from __future__ import annotations

from django.conf import settings

BEAT = {
    "look for due endpoints and dead runs": {
        "task": "workers.probing.look_around",
        "schedule": settings.SCHEDULE_EVERY,
        # A beat that nobody took in time is worth nothing: the next one does the same.
        "options": {"expires": settings.SCHEDULE_EVERY.total_seconds()},
    },
}
