"""Which trials to run: a plan with its price up front, and more trials if verdicts differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from probes.outcomes import Attempt, Outcome
from probes.suite import PROBES, Trial, plan_trials
from probes.suite.question_builder import MAX_TOKENS

# The maximum number of trials of a probe whose verdicts differ.
MAX_SAMPLES = 12
# A question with its tools and a history of a few turns stays below this.
MAX_PROMPT_TOKENS = 3000


@dataclass(frozen=True, slots=True)
class Price:
    """The upper limit of the cost of some trials."""

    requests: int
    tokens: int


def estimate_price(trials: Iterable[Trial]) -> Price:
    requests = sum(PROBES[trial.probe].requests for trial in trials)
    return Price(requests, requests * (MAX_TOKENS + MAX_PROMPT_TOKENS))


def first_trials(suite: str, samples: int | None = None) -> tuple[Trial, ...]:
    """The trials of a suite, or `samples` trials of each of its probes."""
    if samples is None:
        return plan_trials(suite)
    names = dict.fromkeys(trial.probe for trial in plan_trials(suite))
    return tuple(Trial(name, trial) for name in names for trial in range(1, samples + 1))


def further_trials(attempts: Sequence[Attempt], max_requests: int) -> tuple[Trial, ...]:
    """More trials of every probe whose verdicts differ, within the request limit.

    Whole and streamed trials are compared among themselves: a difference between the two is a
    property of the endpoint and not a lack of samples.
    """
    by_probe: dict[str, list[Attempt]] = defaultdict(list)
    for attempt in attempts:
        by_probe[attempt.probe].append(attempt)
    chosen: list[Trial] = []
    for probe, probe_attempts in by_probe.items():
        if not any(_outcomes_differ(probe_attempts, side) for side in ("whole", "streamed")):
            continue
        last = max(attempt.trial for attempt in probe_attempts)
        for trial in range(last + 1, min(2 * last, MAX_SAMPLES) + 1):
            if estimate_price([*chosen, Trial(probe, trial)]).requests > max_requests:
                return tuple(chosen)
            chosen.append(Trial(probe, trial))
    return tuple(chosen)


def _outcomes_differ(attempts: Sequence[Attempt], side: str) -> bool:
    outcomes = {attempt.outcome for attempt in attempts if _side(attempt) == side}
    return len(outcomes - {Outcome.VOID}) > 1


def _side(attempt: Attempt) -> str:
    return "streamed" if attempt.facts.get("streamed") else "whole"
