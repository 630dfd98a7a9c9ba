"""The history of one simulated endpoint: the real judges on vendors whose month takes seconds.

Everything here happens in virtual time, in one process and without a database.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from dashboard.demo.demo_fleet import FleetMember
from dashboard.demo.player_schedule import PlayedSchedule
from probes import fingerprint, runner
from probes.fingerprint import EngineFacts
from probes.outcomes import Attempt, Outcome
from probes.suite import plan_trials
from simulators import virtual_time
from simulators.clock import Clock
from simulators.in_process import InProcessTransport
from simulators.server import build_app

JITTER = 0.1
# Endpoints are registered one after the other, not all in the same second.
FIRST_AFTER, FIRST_WITHIN = timedelta(minutes=30), timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class PlaybackSpan:
    """What is played: the story began at `began`, runs are made from `first` until `until`."""

    began: datetime
    first: datetime
    until: datetime
    seed: int = 0


@dataclass(frozen=True, slots=True)
class SimulatedRun:
    """A run that was played. `engine` is what the endpoint told before it; `at` is its beginning.

    An `engine` without a template hash tells nothing: the endpoint has none to show, or was down.
    """

    slug: str
    at: datetime
    trigger: str
    suite: str
    seed: int
    engine: EngineFacts
    attempts: tuple[Attempt, ...]
    took: timedelta = timedelta(0)
    # How often the endpoint was probed then.
    every: timedelta = timedelta(hours=12)

    @property
    def is_fruitless(self) -> bool:
        return all(attempt.outcome is Outcome.VOID for attempt in self.attempts)


def play_endpoint(
    member: FleetMember, span: PlaybackSpan, emit: Callable[[SimulatedRun], None]
) -> None:
    """Hand out every run of the endpoint, in the order of time."""
    virtual_time.run(_EndpointPlayback(member, span).play(emit))


class _EndpointPlayback:
    def __init__(self, member: FleetMember, span: PlaybackSpan) -> None:
        self._member, self._span = member, span
        self._target = member.target()
        # Draws moments and questions, which protect nothing.
        self._rng = random.Random(f"{span.seed}/{member.slug}")  # noqa: S311
        self._schedule = PlayedSchedule(self._target.provider, member.every)

    async def play(self, emit: Callable[[SimulatedRun], None]) -> None:
        clock = Clock(source=asyncio.get_running_loop().time, started=0)
        clock.advance((self._span.first - self._span.began).total_seconds())
        async with InProcessTransport(build_app(clock=clock)) as transport:
            await _wait(FIRST_AFTER + FIRST_WITHIN * self._rng.random())
            while self._now() < self._span.until:
                run = await self._run(transport)
                emit(run)
                wait = self._schedule.follow(run.attempts, run.suite, ended=run.at + run.took)
                await _wait(wait if run.is_fruitless else wait * self._spread())

    async def _run(self, transport: InProcessTransport) -> SimulatedRun:
        at = self._now()
        engine = await fingerprint.read_engine(self._target, transport)
        trigger = self._schedule.trigger(engine)
        suite = self._schedule.suite(trigger)
        seed = self._rng.getrandbits(53)
        attempts = await self._attempts(suite, seed, transport)
        took = self._now() - at
        slug, every = self._member.slug, self._member.every
        return SimulatedRun(slug, at, trigger, suite, seed, engine, attempts, took, every)

    async def _attempts(
        self, suite: str, seed: int, transport: InProcessTransport
    ) -> tuple[Attempt, ...]:
        # All attempts of a run begin together and then wait for their turn.
        begun = self._now()
        tried = runner.run_trials(self._target, plan_trials(suite), seed=seed, transport=transport)
        return tuple([replace(attempt, started_at=begun) async for attempt in tried])

    def _spread(self) -> float:
        """As in the product, so that no fleet marches in step."""
        return self._rng.uniform(1 - JITTER, 1 + JITTER)

    def _now(self) -> datetime:
        return self._span.first + timedelta(seconds=asyncio.get_running_loop().time())


async def _wait(time: timedelta) -> None:
    await asyncio.sleep(time.total_seconds())
