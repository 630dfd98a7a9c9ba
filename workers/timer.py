"""The timer of each worker: runs are found and executed even without beat and broker."""

from __future__ import annotations

import threading
from typing import Any

from celery import bootsteps
from typing_extensions import override


class ScheduleTimer(bootsteps.StartStopStep):
    """A thread in the worker's main process that calls `tick` every SCHEDULE_EVERY."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, parent: Any, **kwargs: Any) -> None:
        super().__init__(parent, **kwargs)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="schedule-timer", daemon=True)

    @override
    def start(self, parent: Any) -> None:
        self._thread.start()

    @override
    def stop(self, parent: Any) -> None:
        self._stopping.set()

    terminate = stop

    def _loop(self) -> None:
        from django.conf import settings

        from workers.probing import tick

        interval_s = settings.SCHEDULE_EVERY.total_seconds()
        while not self._stopping.is_set():
            tick()
            self._stopping.wait(interval_s)
