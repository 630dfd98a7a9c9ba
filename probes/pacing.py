"""Limits the requests to one endpoint: concurrency, and a pause for all after a 429.

After a few rejections and no answer the endpoint is given up: more rejections would show nothing
new.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from probes.errors import AuthRejected, ConnectFailed, ProbesError, RateLimited
from probes.http_messages import WireResponse
from probes.http_reply import retry_after

DEFAULT_REST_S = 1.0
MAX_REST_S = 30.0
MAX_TRIES = 4
# After this many rejections without any answer, the endpoint is given up.
MAX_REJECTIONS = 3
_REJECTION_ERRORS = (AuthRejected, ConnectFailed, RateLimited)


class Pacer:
    """Shared by all requests to one endpoint."""

    def __init__(self, at_once: int, *, tries: int = MAX_TRIES) -> None:
        self._slots = asyncio.Semaphore(at_once)
        self._tries = tries
        self._resume_at = 0.0
        self._rejections = 0
        self._was_answered = False
        self.given_up: ProbesError | None = None

    def record_outcome(self, error: ProbesError | None) -> None:
        """Record how a question ended; `error` is None if it was answered."""
        if error is None:
            self._was_answered = True
        elif isinstance(error, _REJECTION_ERRORS) and not self._was_answered:
            self._rejections += 1
            if self._rejections >= MAX_REJECTIONS:
                self.given_up = error

    async def send(self, send: Callable[[], Awaitable[WireResponse]]) -> WireResponse:
        """Send when a slot is free; after a 429 all requests pause, and this one is repeated.

        Raises the error that made us give up, if that happened before its turn.
        """
        for tries in range(1, self._tries + 1):
            async with self._slots:
                await self._rest()
                if self.given_up:
                    raise self.given_up
                incoming = await send()
            if incoming.status != 429 or tries == self._tries:
                break
            wait_s = retry_after(incoming)
            rest = DEFAULT_REST_S * 2 ** (tries - 1) if wait_s is None else wait_s
            if rest > MAX_REST_S:
                # A run cannot wait for hours; the attempt is void, with the reason.
                break
            now = asyncio.get_running_loop().time()
            self._resume_at = max(self._resume_at, now + rest)
        return incoming

    async def _rest(self) -> None:
        loop = asyncio.get_running_loop()
        while (remaining := self._resume_at - loop.time()) > 0:
            await asyncio.sleep(remaining)
