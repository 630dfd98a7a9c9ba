"""Limits per token and endpoint, kept in each process: nothing is shared while a request waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from gateway.refusal import Refusal


@dataclass(frozen=True, slots=True)
class RateLimits:
    """What one process lets through; 0 is no limit."""

    token_requests_per_minute: int = 600
    token_streams: int = 64
    token_tokens_per_minute: int = 0
    endpoint_requests: int = 256


@dataclass
class _Bucket:
    level: float
    at: float


@dataclass
class RateLimiter:
    """Counts requests in flight and per minute."""

    limits: RateLimits
    clock: Callable[[], float]
    _minutes: dict[tuple[str, str], _Bucket] = field(default_factory=dict)
    _running: dict[tuple[str, str], int] = field(default_factory=dict)

    @contextmanager
    def admit(self, token: str, endpoint: str) -> Iterator[None]:
        """Let a request through, or raise a Refusal that says when to try again."""
        limits = self.limits
        self._take("requests", token, limits.token_requests_per_minute, 1)
        self._check_tokens(token)
        with (
            self._slot("token", token, limits.token_streams, "This API token"),
            self._slot("endpoint", endpoint, limits.endpoint_requests, "This endpoint"),
        ):
            yield

    def spend_tokens(self, token: str, count: int) -> None:
        """Count tokens of a finished request; the next ones wait for them."""
        limit = self.limits.token_tokens_per_minute
        if limit:
            bucket = self._bucket("tokens", token, limit)
            bucket.level -= count

    def _check_tokens(self, token: str) -> None:
        if limit := self.limits.token_tokens_per_minute:
            self._take("tokens", token, limit, 0)

    def _take(self, kind: str, name: str, limit: int, count: int) -> None:
        if not limit:
            return
        bucket = self._bucket(kind, name, limit)
        if bucket.level < max(count, 1):
            wait = (max(count, 1) - bucket.level) * 60 / limit
            message = f"This API token has used its {kind} per minute. Try again in {wait:.0f} s."
            raise Refusal(429, message, f"limit_{kind}", retry_after_s=wait)
        bucket.level -= count

    def _bucket(self, kind: str, name: str, limit: int) -> _Bucket:
        now = self.clock()
        bucket = self._minutes.setdefault((kind, name), _Bucket(limit, now))
        bucket.level = min(limit, bucket.level + (now - bucket.at) * limit / 60)
        bucket.at = now
        return bucket

    @contextmanager
    def _slot(self, kind: str, name: str, limit: int, who: str) -> Iterator[None]:
        key = (kind, name)
        running = self._running.get(key, 0)
        if limit and running >= limit:
            message = f"{who} already has {running} requests in progress. Try again in a moment."
            raise Refusal(503, message, f"limit_{kind}_streams", retry_after_s=1)
        self._running[key] = running + 1
        try:
            yield
        finally:
            self._running[key] -= 1
            if not self._running[key]:
                del self._running[key]
