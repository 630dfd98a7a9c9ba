from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from probes.attempts import Finding, Metric, Outcome, Verdict
from probes.messages import JSON, ModelCall, Reply


@dataclass(frozen=True, slots=True)
class Drawn:
    """The values of one trial, drawn from its seed."""

    values: Mapping[str, JSON]


@dataclass(frozen=True, slots=True)
class Judged:
    """What a probe says about a reply."""

    outcome: Outcome
    findings: tuple[Finding, ...] = ()
    verdicts: tuple[Verdict, ...] = ()


class Probe(Protocol):
    """One scripted question: draw values, ask, judge the answer."""

    @property
    def name(self) -> str: ...

    @property
    def question(self) -> str: ...

    @property
    def owes(self) -> tuple[Metric, ...]:
        """The metrics that go badly when the endpoint refuses the question itself."""
        ...

    def draw(self, rng: random.Random) -> Drawn: ...

    def call(self, drawn: Drawn, model: str) -> ModelCall: ...

    def judge(self, drawn: Drawn, reply: Reply) -> Judged: ...


def rng_for(seed: str | int, probe: str, trial: int) -> random.Random:
    """The random source of one trial, so that it can be repeated alone."""
    # A drawn value only has to be new to the vendor; it protects nothing.
    return random.Random(f"{seed}/{probe}/{trial}")
