"""A probe is a script: it asks, hears the answers, asks on, and says what it found.

Scripts are generators without input or output of their own. Each `yield` hands out questions that
are asked at the same time; what comes back are their answers in the same order. So one script
runs against an endpoint, against a recorded transcript, and in a test.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from probes.errors import Refused
from probes.messages import JSON, ModelCall, Reply
from probes.outcomes import Finding, Metric, Outcome, Verdict
from probes.suite.question_builder import QuestionBuilder


@dataclass(frozen=True, slots=True)
class DrawnValues:
    """The values of one trial, drawn from its seed."""

    values: Mapping[str, JSON]


@dataclass(frozen=True, slots=True)
class Question:
    """One request to the model; the label tells the branches of a script apart."""

    call: ModelCall
    label: str = "asked"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: a reply, or a refusal of what was asked. Trouble on the way ends a script."""

    reply: Reply | None = None
    refusal: Refused | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a probe says: its verdict, why, the trials it counts, and facts for the profile."""

    outcome: Outcome
    findings: tuple[Finding, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    facts: Mapping[str, JSON] = field(default_factory=dict)
    reached: bool = True  # False: trouble on the way, which says nothing about the model


Script: TypeAlias = Generator[Sequence[Question], Sequence[Answer], Judgement]


class Probe(Protocol):
    """One scripted question: draw values, ask, judge the answers."""

    @property
    def name(self) -> str: ...

    @property
    def question(self) -> str:
        """In plain words, for the pages."""
        ...

    @property
    def settles(self) -> str:
        """What of the profile it settles, in plain words."""
        ...

    @property
    def passes(self) -> str: ...

    @property
    def fails(self) -> str: ...

    @property
    def requests(self) -> int:
        """How many requests one trial takes at most, for the plan."""
        ...

    @property
    def owes(self) -> tuple[Metric, ...]:
        """The metrics that go badly when the endpoint refuses the first question itself."""
        ...

    def draw(self, rng: random.Random) -> DrawnValues: ...

    def script(self, drawn: DrawnValues, builder: QuestionBuilder) -> Script: ...


def rng_for(seed: str | int, probe: str, trial: int) -> random.Random:
    """The random source of one trial, so that it can be repeated alone."""
    # A drawn value only has to be new to the vendor; it protects nothing.
    return random.Random(f"{seed}/{probe}/{trial}")
