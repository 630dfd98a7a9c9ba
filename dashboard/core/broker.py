"""The broker: wakes workers by task name, so that the dashboard imports none, and counts wake-ups.

A wake-up makes a process look for work itself; the work is a row of the database.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from celery import current_app
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

RUN_SUITE = "workers.probing.run_suite"
NOTIFY = "workers.notifying.notify"
TASKS = (RUN_SUITE, NOTIFY)

# A few wake-ups are enough for any number of runs; more would pile up while all processes are busy.
MAX_WAITING = 64
# A wake-up that no process received in time has been sent again meanwhile.
_EXPIRES_S = 300
_QUEUE = "celery"
# A page must not wait for a broker that is gone.
_TIMEOUTS = {"socket_connect_timeout": 2, "socket_timeout": 2}


class BrokerDown(Exception):
    """The broker does not answer. A worker's timer finds the run, which is a row, later."""


def wake_for_runs(run_ids: Iterable[int]) -> None:
    """Send one wake-up per run."""
    for run_id in run_ids:
        _send(RUN_SUITE, [run_id])


def wake_notifier() -> None:
    """Have a worker read the outbox now."""
    _send(NOTIFY, [])


def _send(task: str, args: list[int]) -> None:
    try:
        current_app.send_task(task, args=args, retry=False, expires=_EXPIRES_S)
    except OperationalError as exc:
        raise BrokerDown(str(exc)) from exc


@dataclass(frozen=True, slots=True)
class BrokerServer:
    kind: str  # Redis or Valkey
    version: str
    eviction_policy: str


def count_waiting() -> int:
    """How many wake-ups no process has received yet."""
    with _channel() as channel:
        return int(channel._size(_QUEUE))


def read_broker_server() -> BrokerServer:
    """The server behind the broker URL, by INFO, which is allowed where CONFIG is not."""
    with _channel() as channel, channel.conn_or_acquire() as client:
        facts = {**client.info("server"), **client.info("memory")}
    valkey = facts.get("valkey_version")
    return BrokerServer(
        kind="Valkey" if valkey else "Redis",
        version=str(valkey or facts.get("redis_version", "unknown")),
        eviction_policy=str(facts.get("maxmemory_policy", "unknown")),
    )


@contextmanager
def _channel() -> Iterator[Any]:
    try:
        with current_app.connection_for_write(transport_options=_TIMEOUTS) as connection:
            # Without a limit, connecting tries again for ever.
            connection.ensure_connection(max_retries=1, interval_start=0, timeout=2)
            yield connection.default_channel
    except (OperationalError, RedisError) as exc:
        raise BrokerDown(str(exc)) from exc
