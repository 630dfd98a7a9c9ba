"""Asking for background work: by task name, so that the dashboard imports no worker."""

from __future__ import annotations

from collections.abc import Iterable

from celery import current_app
from kombu.exceptions import OperationalError

RUN_SUITE = "workers.probing.run_suite"
NOTIFY = "workers.notifying.notify"
TASKS = (RUN_SUITE, NOTIFY)


# A doorbell wakes a process that then looks for work itself, so a few are enough for any number
# of runs; more would only pile up while all processes are busy.
MOST_WAITING = 64
# A doorbell that nobody heard in time was rung again meanwhile.
_EXPIRES_S = 300


class BrokerDown(Exception):
    """No doorbell could be rung. The run is a row and is found by a worker's own timer."""


def ring(run_ids: Iterable[int]) -> None:
    """Ring once for each run."""
    for run_id in run_ids:
        _send(RUN_SUITE, [run_id])


def ring_for_notices() -> None:
    """Have somebody look into the outbox now."""
    _send(NOTIFY, [])


def _send(task: str, args: list[int]) -> None:
    try:
        current_app.send_task(task, args=args, retry=False, expires=_EXPIRES_S)
    except OperationalError as exc:
        raise BrokerDown(str(exc)) from exc
