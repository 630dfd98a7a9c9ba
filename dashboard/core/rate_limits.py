"""How often somebody may do something: so often at once, and again as time passes.

Counted in Redis, which all web processes share, in one step. While Redis is away each process
counts for itself and allows a quarter: several of them together stay near what is allowed.
"""

from __future__ import annotations

import ipaddress
import math
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import redis
import structlog
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

log = structlog.get_logger()

# A request must not wait for a broker that is gone, and not every request must find that out.
_PATIENCE_S = 0.5
_TRY_AGAIN_S = 5.0
_STRICTER = 4
_MOST_LOCAL = 10_000


@dataclass(frozen=True, slots=True)
class Rate:
    """So many in so many seconds; all of them may come at once."""

    name: str
    count: int
    seconds: float

    @property
    def interval(self) -> float:
        return self.seconds / self.count

    def stricter(self) -> Rate:
        return Rate(self.name, max(1, self.count // _STRICTER), self.seconds)


@dataclass(frozen=True, slots=True)
class Counted:
    """What one more came to."""

    rate: Rate
    is_allowed: bool
    left: int
    # Until one more is allowed, or, where it was, until all of them are again.
    wait_s: int

    def headers(self) -> dict[str, str]:
        """As the draft of the IETF's HTTPAPI group has them."""
        name = f'"{self.rate.name}"'
        found = {
            "RateLimit-Policy": f"{name};q={self.rate.count};w={math.ceil(self.rate.seconds)}",
            "RateLimit": f"{name};r={self.left};t={self.wait_s}",
        }
        return found if self.is_allowed else found | {"Retry-After": str(self.wait_s)}


def requests() -> Rate:
    return Rate("requests", *settings.API_RATE)


def telemetry() -> Rate:
    return Rate("telemetry", *settings.API_TELEMETRY_RATE)


def failures() -> Rate:
    return Rate("failures", *settings.API_AUTH_FAILURES)


def count(rate: Rate, who: str) -> Counted:
    """Count one more of somebody."""
    if time.monotonic() >= _Down.until:
        try:
            return _in_redis(rate, f"toolgauge:rate:{rate.name}:{who}")
        except redis.RedisError as exc:
            _Down.until = time.monotonic() + _TRY_AGAIN_S
            log.warning("rates are counted by each process", error=str(exc))
    return _here(rate.stricter(), f"{rate.name}:{who}")


def neighbourhood(address: str) -> str:
    """What stands for an address: of IPv6 the /64, since one machine has all of it."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if found.version == 4:
        return str(found)
    return str(ipaddress.ip_network((found, 64), strict=False).network_address)


class _Down:
    until = 0.0


# One number a caller: when all that it used is allowed again. Redis' own clock, in microseconds.
_SCRIPT = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local interval, span = tonumber(ARGV[1]), tonumber(ARGV[2])
local full = math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), now)
if full + interval - now > span then
  return {0, full + interval - now - span}
end
redis.call('SET', KEYS[1], string.format('%.0f', full + interval), 'PX', math.ceil(span / 1000) + 1)
return {1, full + interval - now}
"""


def _in_redis(rate: Rate, key: str) -> Counted:
    script = _script(settings.REDIS_URL)
    interval, span = round(rate.interval * 1e6), round(rate.seconds * 1e6)
    allowed, us = script(keys=[key], args=[interval, span])
    return _counted(rate, bool(allowed), us / 1e6)


@lru_cache(maxsize=4)
def _script(url: str) -> Any:
    client = redis.Redis.from_url(
        url,
        socket_timeout=_PATIENCE_S,
        socket_connect_timeout=_PATIENCE_S,
        retry=Retry(NoBackoff(), 0),
    )
    return client.register_script(_SCRIPT)


_local: OrderedDict[str, float] = OrderedDict()
_lock = threading.Lock()


def _here(rate: Rate, key: str) -> Counted:
    """The same arithmetic in this process; the longest unseen are forgotten."""
    with _lock:
        now = time.monotonic()
        full = max(_local.pop(key, 0.0), now)
        wait = full + rate.interval - now
        is_allowed = wait <= rate.seconds + 1e-9
        _local[key] = full + rate.interval if is_allowed else full
        while len(_local) > _MOST_LOCAL:
            _local.popitem(last=False)
    return _counted(rate, is_allowed, wait if is_allowed else wait - rate.seconds)


def _counted(rate: Rate, is_allowed: bool, wait: float) -> Counted:
    left = math.floor((rate.seconds - wait) / rate.interval + 1e-6) if is_allowed else 0
    return Counted(rate, is_allowed, max(0, left), max(1, math.ceil(wait)))
