"""Whether this worker should stop: its processes finish their current work and claim no more."""

from __future__ import annotations

import multiprocessing
from typing import Any

from celery.signals import worker_shutting_down

# Created before the pool forks: only the main process receives the signal, all processes read it.
# Without a lock: a process that is killed while it reads must not block the others.
_requested = multiprocessing.RawValue("b", 0)


def is_requested() -> bool:
    return bool(_requested.value)


@worker_shutting_down.connect
def _set_requested(**_kwargs: Any) -> None:
    _requested.value = 1
