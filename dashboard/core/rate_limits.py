"""Rate limits: a burst of calls, refilled as time passes.

Counted in one step in Redis, which all web processes share. While Redis is down each process
counts for itself and allows a quarter, so that several processes together stay near the limit.
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

# A request must not wait for a Redis that is gone, and not every request should try it.
_TIMEOUT_S = 0.5
_RETRY_S = 5.0
_OUTAGE_DIVISOR = 4
_MAX_LOCAL = 10_000


@dataclass(frozen=True, slots=True)
class Rate:
    """`count` calls per `seconds`; all of them may come at once."""

    name: str
    count: int
    seconds: float

    @property
    def interval(self) -> float:
        return self.seconds / self.count

    def stricter(self) -> Rate:
        return Rate(self.name, max(1, self.count // _OUTAGE_DIVISOR), self.seconds)


@dataclass(frozen=True, slots=True)
class RateResult:
    """Whether one more call is allowed."""

    rate: Rate
    is_allowed: bool
    left: int
    # Until one more call is allowed; after an allowed call, until the whole burst is.
    wait_s: int

    def headers(self) -> dict[str, str]:
        """Headers of the draft of the IETF's HTTPAPI group."""
        name = f'"{self.rate.name}"'
        limit = {
            "RateLimit-Policy": f"{name};q={self.rate.count};w={math.ceil(self.rate.seconds)}",
            "RateLimit": f"{name};r={self.left};t={self.wait_s}",
        }
        return limit if self.is_allowed else limit | {"Retry-After": str(self.wait_s)}


def request_rate() -> Rate:
    return Rate("requests", *settings.API_RATE)


def telemetry_rate() -> Rate:
    return Rate("telemetry", *settings.API_TELEMETRY_RATE)


def failure_rate() -> Rate:
    return Rate("failures", *settings.API_AUTH_FAILURES)


def count_call(rate: Rate, who: str) -> RateResult:
    """Count one more call of `who`."""
    if time.monotonic() >= _RedisOutage.until:
        try:
            return _count_in_redis(rate, f"toolgauge:rate:{rate.name}:{who}")
        except redis.RedisError as exc:
            _RedisOutage.until = time.monotonic() + _RETRY_S
            log.warning("rates are counted by each process", error=str(exc))
    return count_in_process(rate.stricter(), f"{rate.name}:{who}")


def address_key(address: str) -> str:
    """The address to count by; all that are none count as one."""
    return network_of(address) or "unknown"


def network_of(address: str) -> str | None:
    """The first address of the /64 of an IPv6 address, since one machine has all of it.

    An IPv4 address is itself, also in its IPv6 spelling; what is no address is None.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return None
    if parsed.version == 4:
        return str(parsed)
    if parsed.ipv4_mapped:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, 64), strict=False).network_address)


class _RedisOutage:
    until = 0.0


# One number per caller: when its whole burst is allowed again, in microseconds of Redis' clock.
_COUNT_SCRIPT = """
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


def _count_in_redis(rate: Rate, key: str) -> RateResult:
    script = _script(settings.REDIS_URL)
    interval, span = round(rate.interval * 1e6), round(rate.seconds * 1e6)
    allowed, us = script(keys=[key], args=[interval, span])
    return _rate_result(rate, bool(allowed), us / 1e6)


@lru_cache(maxsize=4)
def _script(url: str) -> Any:
    client = redis.Redis.from_url(
        url,
        socket_timeout=_TIMEOUT_S,
        socket_connect_timeout=_TIMEOUT_S,
        retry=Retry(NoBackoff(), 0),
    )
    return client.register_script(_COUNT_SCRIPT)


_local: OrderedDict[str, float] = OrderedDict()
_lock = threading.Lock()


def count_in_process(rate: Rate, key: str) -> RateResult:
    """The same arithmetic in this process; the least recently seen callers are dropped."""
    with _lock:
        now = time.monotonic()
        full = max(_local.pop(key, 0.0), now)
        wait = full + rate.interval - now
        is_allowed = wait <= rate.seconds + 1e-9
        _local[key] = full + rate.interval if is_allowed else full
        while len(_local) > _MAX_LOCAL:
            _local.popitem(last=False)
    return _rate_result(rate, is_allowed, wait if is_allowed else wait - rate.seconds)


def _rate_result(rate: Rate, is_allowed: bool, wait: float) -> RateResult:
    left = math.floor((rate.seconds - wait) / rate.interval + 1e-6) if is_allowed else 0
    return RateResult(rate, is_allowed, max(0, left), max(1, math.ceil(wait)))
