"""The beat table. Every worker keeps the same schedule by its own timer (workers/timer.py)."""

from __future__ import annotations

from django.conf import settings

# A beat that nobody took in time is worth nothing: the next one does the same.
_OPTIONS = {"expires": settings.SCHEDULE_EVERY.total_seconds()}

BEAT = {
    "look for due endpoints and dead runs": {
        "task": "workers.probing.beat",
        "schedule": settings.SCHEDULE_EVERY,
        "options": _OPTIONS,
    },
    "roll up and clear away": {
        "task": "workers.upkeep.upkeep",
        "schedule": settings.SCHEDULE_EVERY,
        "options": _OPTIONS,
    },
    "tell people": {
        "task": "workers.notifying.notify",
        "schedule": settings.SCHEDULE_EVERY,
        "options": _OPTIONS,
    },
}
