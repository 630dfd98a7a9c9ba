"""How fast an endpoint is asked: so many requests at once, and a rest for all after a 429.

An endpoint that lets nobody in is not asked on: a suite's worth of refusals tells nothing more
than the first few.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from probes.errors import AuthRejected, ConnectFailed, ProbesError, RateLimited
from probes.http_messages import WireResponse
from probes.http_reply import retry_after

DEFAULT_REST_S = 1.0
LONGEST_REST_S = 30.0
MAX_TRIES = 4
# So many questions turned away at the door, and none answered: the rest is not asked.
ENOUGH = 3
_AT_THE_DOOR = (AuthRejected, ConnectFailed, RateLimited)


class Pacer:
    """Shared by all requests to one endpoint."""

    def __init__(self, at_once: int, *, tries: int = MAX_TRIES) -> None:
        self._slots = asyncio.Semaphore(at_once)
        self._tries = tries
        self._resume_at = 0.0
        self._turned_away = 0
        self._was_answered = False
        self.given_up: ProbesError | None = None

    def note(self, trouble: ProbesError | None) -> None:
        """Note how a question ended; `trouble` is None where it was answered."""
        if trouble is None:
            self._was_answered = True
        elif isinstance(trouble, _AT_THE_DOOR) and not self._was_answered:
            self._turned_away += 1
            if self._turned_away >= ENOUGH:
                self.given_up = trouble

    async def send(self, send: Callable[[], Awaitable[WireResponse]]) -> WireResponse:
        """Send when there is room; where the endpoint says slow down, all wait and this repeats.

        Raises the trouble that made us give up, where that has happened before its turn came.
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
