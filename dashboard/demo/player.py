"""Plays the history of one simulated endpoint: the real probes on simulated vendors.

It runs in virtual time, in one process and without a database, so that a month takes seconds.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from dashboard.demo.demo_fleet import FleetMember
from dashboard.demo.player_schedule import SimulatedSchedule
from health.capabilities import derive_capabilities
from probes import fingerprint, runner
from probes.adapters import adapter_for
from probes.fingerprint import EngineFacts
from probes.outcomes import Attempt, Outcome
from probes.suite import plan_trials
from simulators import virtual_time
from simulators.clock import Clock
from simulators.in_process import InProcessTransport
from simulators.server import build_app

JITTER = 0.1
# The first runs of the endpoints are spread, as if registered one after the other.
FIRST_RUN_AFTER, FIRST_RUN_WITHIN = timedelta(minutes=30), timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class PlaybackSpan:
    """The story began at `began`; the runs between `first` and `until` are played."""

    began: datetime
    first: datetime
    until: datetime
    seed: int = 0


@dataclass(frozen=True, slots=True)
class SimulatedRun:
    """A played run that started at `at`. `engine` has the facts that were read before it.

    An `engine` without a template hash means that the endpoint has none, or was down.
    """

    slug: str
    at: datetime
    trigger: str
    suite: str
    seed: int
    engine: EngineFacts
    attempts: tuple[Attempt, ...]
    took: timedelta = timedelta(0)
    # The probe interval at that time.
    every: timedelta = timedelta(hours=12)

    @property
    def has_no_verdict(self) -> bool:
        return all(attempt.outcome is Outcome.VOID for attempt in self.attempts)


def play_endpoint(
    member: FleetMember, span: PlaybackSpan, emit: Callable[[SimulatedRun], None]
) -> None:
    """Call `emit` with every run of the endpoint, in chronological order."""
    virtual_time.run(_EndpointPlayback(member, span).play(emit))


class _EndpointPlayback:
    def __init__(self, member: FleetMember, span: PlaybackSpan) -> None:
        self._member, self._span = member, span
        self._target = member.target()
        # Draws times and trials, not secrets.
        self._rng = random.Random(f"{span.seed}/{member.slug}")  # noqa: S311
        self._schedule = SimulatedSchedule(self._target.provider, member.every)
        self._reasoning_replay = ""

    async def play(self, emit: Callable[[SimulatedRun], None]) -> None:
        clock = Clock(source=asyncio.get_running_loop().time, started=0)
        clock.advance((self._span.first - self._span.began).total_seconds())
        async with InProcessTransport(build_app(clock=clock)) as transport:
            await _wait(FIRST_RUN_AFTER + FIRST_RUN_WITHIN * self._rng.random())
            while self._now() < self._span.until:
                run = await self._play_run(transport)
                emit(run)
                wait = self._schedule.record_run(run.attempts, run.suite, ended=run.at + run.took)
                await _wait(wait if run.has_no_verdict else wait * self._jitter())

    async def _play_run(self, transport: InProcessTransport) -> SimulatedRun:
        at = self._now()
        engine = await fingerprint.read_engine(self._target, transport)
        trigger = self._schedule.next_trigger(engine)
        suite = self._schedule.next_suite(trigger)
        seed = self._rng.getrandbits(53)
        attempts = await self._play_attempts(suite, seed, transport)
        took = self._now() - at
        slug, every = self._member.slug, self._member.every
        return SimulatedRun(slug, at, trigger, suite, seed, engine, attempts, took, every)

    async def _play_attempts(
        self, suite: str, seed: int, transport: InProcessTransport
    ) -> tuple[Attempt, ...]:
        # One time for all attempts of a run.
        started_at = self._now()
        stream = runner.run_trials(
            self._target,
            plan_trials(suite),
            seed=seed,
            transport=transport,
            reasoning_replay=self._reasoning_replay,
        )
        attempts = tuple([replace(attempt, started_at=started_at) async for attempt in stream])
        self._learn_replay(attempts)
        return attempts

    def _learn_replay(self, attempts: tuple[Attempt, ...]) -> None:
        """The rule that a run measured is that of the next one."""
        wire = adapter_for(self._target.provider).format
        capability = derive_capabilities(attempts, wire)["reasoning_replay"]
        if capability.trials:
            self._reasoning_replay = str(capability.value)

    def _jitter(self) -> float:
        """A random factor as in the real schedule, so that endpoints are not probed in step."""
        return self._rng.uniform(1 - JITTER, 1 + JITTER)

    def _now(self) -> datetime:
        return self._span.first + timedelta(seconds=asyncio.get_running_loop().time())


async def _wait(time: timedelta) -> None:
    await asyncio.sleep(time.total_seconds())
