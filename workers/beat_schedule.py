"""The schedule of Celery beat. The timer of every worker runs the same (workers/timer.py)."""

from __future__ import annotations

from django.conf import settings

# A message that was not handled in time expires: the next one does the same.
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
