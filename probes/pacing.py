"""How fast an endpoint is asked: so many requests at once, and a rest for all after a 429."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from probes.answers import retry_after
from probes.wire import Incoming

DEFAULT_REST_S = 1.0
LONGEST_REST_S = 30.0
MAX_TRIES = 4


class Pacer:
    """Shared by all requests to one endpoint."""

    def __init__(self, at_once: int) -> None:
        self._slots = asyncio.Semaphore(at_once)
        self._resume_at = 0.0

    async def send(self, send: Callable[[], Awaitable[Incoming]]) -> Incoming:
        """Send when there is room; where the endpoint says slow down, all wait and this repeats."""
        for tries in range(1, MAX_TRIES + 1):
            async with self._slots:
                await self._rest()
                incoming = await send()
            if incoming.status != 429 or tries == MAX_TRIES:
                break
            asked = retry_after(incoming)
            rest = DEFAULT_REST_S * 2 ** (tries - 1) if asked is None else asked
            if rest > LONGEST_REST_S:
                # Nobody waits for hours inside a run; the attempt is void and says so.
                break
            now = asyncio.get_running_loop().time()
            self._resume_at = max(self._resume_at, now + rest)
        return incoming

    async def _rest(self) -> None:
        loop = asyncio.get_running_loop()
        while (left := self._resume_at - loop.time()) > 0:
            await asyncio.sleep(left)
