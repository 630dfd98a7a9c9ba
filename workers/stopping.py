"""Whether this worker was asked to stop: its processes finish what they have and take no more."""

from __future__ import annotations

import multiprocessing
from typing import Any

from celery.signals import worker_shutting_down

# Made before the pool forks, so that the signal which only the main process hears is seen by all.
_asked = multiprocessing.Event()


def is_asked() -> bool:
    return _asked.is_set()


@worker_shutting_down.connect
def _note(**_kwargs: Any) -> None:
    _asked.set()
