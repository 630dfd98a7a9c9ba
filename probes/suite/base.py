"""A probe is a script: it asks questions, reads the answers, asks further, and judges the result.

Scripts are generators without I/O of their own. Each `yield` returns questions that are sent at the
same time and receives their answers in the same order. So one script runs against an endpoint,
against a recorded transcript, and in a test.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from probes.errors import Refused, StreamBroken, TransportError
from probes.messages import JSON, ModelCall, Reply
from probes.outcomes import Finding, Metric, Outcome, Verdict
from probes.suite.question_builder import QuestionBuilder


@dataclass(frozen=True, slots=True)
class DrawnValues:
    """The values of one trial, drawn from its seed."""

    values: Mapping[str, JSON]


@dataclass(frozen=True, slots=True)
class Question:
    """One request to the model; the label identifies the branches of a script.

    A stream that breaks off ends the script, unless the question expects that it may. Servers may
    answer what is in a question with a server error (`may_fail`): after one retry that is a
    refusal, and says nothing about availability. A lost connection says nothing at all then.
    """

    call: ModelCall
    label: str = "asked"
    may_break: bool = False
    may_fail: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply, a refusal, or a broken stream or connection. Other errors end the script."""

    reply: Reply | None = None
    refusal: Refused | None = None
    broken: StreamBroken | TransportError | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """The result of a probe: outcome, findings, trials, and facts for the profile."""

    outcome: Outcome
    findings: tuple[Finding, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    facts: Mapping[str, JSON] = field(default_factory=dict)


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
        """The part of the profile that it decides, in plain words."""
        ...

    @property
    def passes(self) -> str: ...

    @property
    def fails(self) -> str: ...

    @property
    def requests(self) -> int:
        """The maximum number of requests per trial, for the plan."""
        ...

    @property
    def refusal_metrics(self) -> tuple[Metric, ...]:
        """The metrics that fail if the endpoint refuses the first question itself."""
        ...

    def draw(self, rng: random.Random) -> DrawnValues: ...

    def script(self, drawn: DrawnValues, builder: QuestionBuilder) -> Script: ...


def rng_for(seed: str | int, probe: str, trial: int) -> random.Random:
    """The random source of one trial, so that the trial can be repeated alone."""
    # A drawn value only has to be new to the vendor; it is no secret.
    return random.Random(f"{seed}/{probe}/{trial}")
