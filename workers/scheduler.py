"""The scheduler of Celery beat: it keeps no file, and records itself that it is alive."""

from __future__ import annotations

import time
from typing import Any

from celery.beat import Scheduler
from django.conf import settings
from typing_extensions import override

from dashboard.runs import pulses
from workers.database_trouble import survive_database_errors


class PulseScheduler(Scheduler):
    """Sends the wake-ups of BEAT by its clock alone.

    A pulse that a worker recorded would wait behind runs, and a schedule on disk would stop beat
    when the disk is full; after a restart everything is due at once, which is harmless.
    """

    _pulse_due = 0.0

    @override
    def tick(self, *args: Any, **kwargs: Any) -> Any:
        if time.monotonic() >= self._pulse_due:
            self._pulse_due = time.monotonic() + settings.SCHEDULE_EVERY.total_seconds() / 2
            with survive_database_errors():
                pulses.record_pulse(pulses.BEAT)
        return super().tick(*args, **kwargs)
