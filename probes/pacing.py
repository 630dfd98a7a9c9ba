"""Limits the requests to one endpoint: concurrency, and retries of answers that may pass.

After a 429, or a 5xx that says how long to wait, all requests pause; after any other 5xx only the
one that got it.

After a few identical rejections and no answer the endpoint is given up: more of them would show
nothing new.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from probes.errors import ProbesError, Refused
from probes.http_messages import WireResponse
from probes.http_reply import retry_after
from probes.rejections import rejection_cause

DEFAULT_REST_S = 1.0
MAX_REST_S = 30.0
MAX_TRIES = 4
# After this many identical rejections without any answer, the endpoint is given up.
MAX_REJECTIONS = 3


def may_pass(incoming: WireResponse) -> bool:
    """Whether the status of an answer says that the same request may succeed later."""
    return incoming.status == 429 or incoming.status >= 500


class Pacer:
    """Shared by all requests to one endpoint."""

    def __init__(self, at_once: int, *, tries: int = MAX_TRIES) -> None:
        self._slots = asyncio.Semaphore(at_once)
        self._tries = tries
        self._resume_at = 0.0
        self._rejections: dict[str, list[str]] = {}
        self._was_answered = False
        self.given_up: ProbesError | None = None

    def record_outcome(self, error: ProbesError | None, probe: str = "") -> None:
        """Record how a question of a probe ended; `error` is None if it was answered.

        The same refusal of a request counts once per probe: it may be about that probe alone.
        """
        cause = rejection_cause(error)
        if error is None or (cause is None and isinstance(error, Refused)):
            self._was_answered = True
        if error is None or cause is None or self._was_answered:
            return
        rejected = self._rejections.setdefault(cause, [])
        if not (isinstance(error, Refused) and probe in rejected):
            rejected.append(probe)
        if len(rejected) >= MAX_REJECTIONS:
            self.given_up = error

    async def send(
        self,
        send: Callable[[], Awaitable[WireResponse]],
        is_retryable: Callable[[WireResponse], bool] = may_pass,
    ) -> WireResponse:
        """Send when a slot is free, and repeat it a few times while its answer may pass.

        Raises the error that made us give up, if that happened before its turn.
        """
        # A retry keeps its slot: otherwise every other question would be sent to an endpoint that
        # is down before the first is given up.
        async with self._slots:
            await self._rest()
            if self.given_up:
                raise self.given_up
            incoming = await send()
            for tries in range(1, self._tries):
                if not is_retryable(incoming) or not await self._wait_after(incoming, tries):
                    break
                await self._rest()
                if self.given_up:
                    break
                incoming = await send()
        return incoming

    async def _wait_after(self, incoming: WireResponse, tries: int) -> bool:
        """Wait before a retry; False if that would take too long."""
        requested_s = retry_after(incoming)
        rest = DEFAULT_REST_S * 2 ** (tries - 1) if requested_s is None else requested_s
        if rest > MAX_REST_S:
            # A run cannot wait for hours; the attempt is void, with the reason.
            return False
        # Before the first answer all wait too: the endpoint may be down.
        if incoming.status == 429 or requested_s is not None or not self._was_answered:
            now = asyncio.get_running_loop().time()
            self._resume_at = max(self._resume_at, now + rest)
        else:
            await asyncio.sleep(rest)
        return True

    async def _rest(self) -> None:
        loop = asyncio.get_running_loop()
        while (remaining := self._resume_at - loop.time()) > 0:
            await asyncio.sleep(remaining)
