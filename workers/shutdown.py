"""Whether this worker was asked to stop: its processes finish what they have and take no more."""

from __future__ import annotations

import multiprocessing
from typing import Any

from celery.signals import worker_shutting_down

# Made before the pool forks, so that the signal which only the main process hears is seen by all.
# Bare memory without a lock: a process that is killed while it looks must not hold up the others.
_asked = multiprocessing.RawValue("b", 0)


def is_requested() -> bool:
    return bool(_asked.value)


@worker_shutting_down.connect
def _note(**_kwargs: Any) -> None:
    _asked.value = 1
