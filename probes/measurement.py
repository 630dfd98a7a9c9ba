"""A whole measurement: the suite, and more samples where verdicts differ, within its limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime

from probes import runner
from probes.dialects.base import Dialect
from probes.exchange_evidence import Evidence
from probes.outcomes import Attempt, Finding, FindingKind, Outcome
from probes.suite import Trial
from probes.suite.replay_lessons import ReplayLessons
from probes.suite.sampling import estimate_price, first_trials, further_trials
from probes.target import Target
from probes.transport import Transport

ROUNDS = 3
DEADLINE_S = 900.0


@dataclass(frozen=True, slots=True)
class MeasurementPlan:
    """What to run. `max_requests` limits the rounds after the first."""

    suite: str = "full"
    samples: int | None = None
    max_requests: int | None = None
    deadline_s: float = DEADLINE_S

    @property
    def trials(self) -> tuple[Trial, ...]:
        return first_trials(self.suite, self.samples)

    @property
    def room(self) -> int:
        """The request limit over all rounds; by default twice the first round."""
        return self.max_requests or 2 * estimate_price(self.trials).requests


async def measure_endpoint(
    target: Target,
    plan: MeasurementPlan,
    *,
    seed: str | int,
    transport: Transport | None = None,
    dialect: Dialect | None = None,
) -> AsyncGenerator[Attempt, None]:
    """Yield every attempt as it completes; attempts cut off by the deadline are void."""
    completed: list[Attempt] = []
    trials, lessons = plan.trials, ReplayLessons()
    end = asyncio.get_running_loop().time() + plan.deadline_s
    for _ in range(ROUNDS):
        attempts = runner.run_trials(
            target, trials, seed=seed, transport=transport, dialect=dialect, lessons=lessons
        )
        async with aclosing(attempts):
            while True:
                try:
                    async with asyncio.timeout_at(end):
                        attempt = await anext(attempts, None)
                except TimeoutError:
                    done = {(attempt.probe, attempt.trial) for attempt in completed}
                    for late in _cut_off_attempts(trials, done, _cut_off_message(plan, transport)):
                        yield late
                    return
                if attempt is None:
                    break
                completed.append(attempt)
                yield attempt
        spent = sum(attempt.evidence.requests for attempt in completed)
        trials = further_trials(completed, plan.room - spent)
        if not trials:
            return


def _cut_off_message(plan: MeasurementPlan, transport: Transport | None) -> str:
    message = f"The run was not complete within {plan.deadline_s:g} s."
    rate_limited = transport.statuses[429] if transport else 0
    return (
        f"{message} The endpoint said slow down (429) {rate_limited} times."
        if rate_limited
        else message
    )


def _cut_off_attempts(
    trials: Iterable[Trial], done: set[tuple[str, int]], message: str
) -> Iterable[Attempt]:
    # Our own deadline says nothing about the endpoint.
    finding = Finding(FindingKind.OUR_FAULT, message)
    for trial in trials:
        if (trial.probe, trial.trial) not in done:
            yield Attempt(
                trial.probe,
                trial.trial,
                Outcome.VOID,
                (finding,),
                (),
                Evidence(),
                datetime.now(UTC),
            )
