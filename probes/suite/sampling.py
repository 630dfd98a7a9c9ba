"""How often to ask: a plan with its price before anything is sent, and more where it is unclear."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from probes.outcomes import Attempt, Outcome
from probes.suite import PROBES, Trial, plan_trials
from probes.suite.question_builder import MAX_TOKENS

# No probe is asked more often than this because its answers differ.
MOST_SAMPLES = 12
# A question with its tools and the history of a few turns stays below this.
MAX_PROMPT_TOKENS = 3000


@dataclass(frozen=True, slots=True)
class Price:
    """The most that some trials can cost."""

    requests: int
    tokens: int


def estimate_price(trials: Iterable[Trial]) -> Price:
    requests = sum(PROBES[trial.probe].requests for trial in trials)
    return Price(requests, requests * (MAX_TOKENS + MAX_PROMPT_TOKENS))


def first_trials(suite: str, samples: int | None = None) -> tuple[Trial, ...]:
    """The trials of a suite, or as many of each of its probes as are asked for."""
    if samples is None:
        return plan_trials(suite)
    names = dict.fromkeys(trial.probe for trial in plan_trials(suite))
    return tuple(Trial(name, trial) for name in names for trial in range(1, samples + 1))


def further_trials(attempts: Sequence[Attempt], max_requests: int) -> tuple[Trial, ...]:
    """As many trials again of every probe whose verdicts differ, as long as there is room."""
    by_probe: dict[str, list[Attempt]] = defaultdict(list)
    for attempt in attempts:
        by_probe[attempt.probe].append(attempt)
    chosen: list[Trial] = []
    for probe, made in by_probe.items():
        outcomes = {attempt.outcome for attempt in made} - {Outcome.VOID}
        if len(outcomes) < 2:
            continue
        last = max(attempt.trial for attempt in made)
        for trial in range(last + 1, min(2 * last, MOST_SAMPLES) + 1):
            if estimate_price([*chosen, Trial(probe, trial)]).requests > max_requests:
                return tuple(chosen)
            chosen.append(Trial(probe, trial))
    return tuple(chosen)
