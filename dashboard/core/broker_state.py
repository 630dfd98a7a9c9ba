"""Looking at the broker without ringing: what it is, and how many doorbells wait in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from celery import current_app
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from dashboard.core.broker import BrokerDown

_QUEUE = "celery"
# A page must not wait for a broker that is gone.
_IMPATIENT = {"socket_connect_timeout": 2, "socket_timeout": 2}


@dataclass(frozen=True, slots=True)
class Server:
    kind: str  # Redis or Valkey
    version: str
    eviction_policy: str


def waiting() -> int:
    """How many doorbells nobody has heard yet."""
    with _channel() as channel:
        return int(channel._size(_QUEUE))


def server() -> Server:
    """What answers there. INFO tells it all, and is allowed where CONFIG is not."""
    with _channel() as channel, channel.conn_or_acquire() as client:
        facts = {**client.info("server"), **client.info("memory")}
    valkey = facts.get("valkey_version")
    return Server(
        kind="Valkey" if valkey else "Redis",
        version=str(valkey or facts.get("redis_version", "unknown")),
        eviction_policy=str(facts.get("maxmemory_policy", "unknown")),
    )


@contextmanager
def _channel() -> Iterator[Any]:
    try:
        with current_app.connection_for_write(transport_options=_IMPATIENT) as connection:
            # Without a limit, connecting tries again for ever.
            connection.ensure_connection(max_retries=1, interval_start=0, timeout=2)
            yield connection.default_channel
    except (OperationalError, RedisError) as exc:
        raise BrokerDown(str(exc)) from exc
