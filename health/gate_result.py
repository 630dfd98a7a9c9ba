"""Values of a gate evaluation: the facts, the conditions with their figures, and the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any

from typing_extensions import override

from health.client_view import UNKNOWN_CLIENT, ClientReason, ClientView
from health.detector import BaselineState
from health.metric_names import metric_name
from health.translation import say
from probes.outcomes import Metric

# The source of a figure: ("run", id), ("incident", id), ("metric", name), ("profile", epoch).
Evidence = tuple[str, int | str]


class ConditionState(StrEnum):
    MET = "met"
    NOT_MET = "not_met"
    INCONCLUSIVE = "inconclusive"  # more trials are needed
    NO_DATA = "no_data"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence that is translated when it is displayed."""

    # A marked text; or, if it depends on a count, a function that calls `say_many`.
    text: str | Callable[[int], str]
    values: Mapping[str, Any] = field(default_factory=dict)

    @override
    def __str__(self) -> str:
        text = self.text
        template = say(text) if isinstance(text, str) else text(self.values["count"])
        return template.format(**self.values)


@dataclass(frozen=True, slots=True)
class MetricName:
    """The name of a metric inside a sentence, in the language of the sentence."""

    metric: Metric
    is_live: bool = False

    @override
    def __str__(self) -> str:
        name = metric_name(self.metric)
        return say("{metric} of live traffic").format(metric=name) if self.is_live else name


@dataclass(frozen=True, slots=True)
class ClientReasons:
    """Why an ordinary client fails, inside a sentence and in its language."""

    reasons: Sequence[ClientReason]

    @override
    def __str__(self) -> str:
        return "; ".join(str(reason) for reason in self.reasons)


@dataclass(frozen=True, slots=True)
class GateCondition:
    """One condition of the next stage. `figure` and `wanted` are numbers or codes."""

    key: str  # such as runs, rate.parse_success, live.schema_failure, baseline, age
    state: ConditionState
    sentence: Sentence
    figure: float | int | str | None
    wanted: float | int | str
    evidence: Evidence | None = None

    @property
    def text(self) -> str:
        """The condition as a sentence with its figures, in the reader's language."""
        return str(self.sentence)

    @property
    def is_met(self) -> bool:
        return self.state is ConditionState.MET

    def as_json(self) -> dict[str, Any]:
        return {
            "key": self.key,
            "state": self.state.value,
            "figure": self.figure,
            "wanted": self.wanted,
            "evidence": list(self.evidence) if self.evidence else None,
        }


@dataclass(frozen=True, slots=True)
class GateResult:
    """The evaluated gate of the next stage; at the top stage there are no conditions."""

    stage: str
    next: str | None
    conditions: tuple[GateCondition, ...]
    # The GateVersion; None is the default gates.
    version: int | None

    @property
    def is_met(self) -> bool:
        return self.next is not None and all(condition.is_met for condition in self.conditions)

    @property
    def paused(self) -> bool:
        """No condition failed, but some lack data."""
        states = {condition.state for condition in self.conditions}
        return ConditionState.NOT_MET not in states and bool(
            states & {ConditionState.INCONCLUSIVE, ConditionState.NO_DATA}
        )

    @property
    def missing(self) -> tuple[GateCondition, ...]:
        return tuple(condition for condition in self.conditions if not condition.is_met)


@dataclass(frozen=True, slots=True)
class TrialCounts:
    """The trials of a metric over some runs."""

    trials: int
    failures: int
    runs: int = 1


@dataclass(frozen=True, slots=True)
class GateFacts:
    """The inputs of all conditions."""

    stage: str
    epoch: int
    # Time at the current stage.
    age: timedelta
    # Ids of finished runs under the current suite version, newest last; those of the full suite.
    runs: Sequence[int] = ()
    full_runs: Sequence[int] = ()
    figures: Mapping[Metric, TrialCounts] = field(default_factory=dict)
    baseline: BaselineState = BaselineState.NONE
    incidents: Sequence[int] = ()
    # Live trials since the current stage began.
    live: Mapping[Metric, TrialCounts] = field(default_factory=dict)
    is_stale: bool = False
    is_budget_spent: bool = False
    # None if it was not measured.
    tool_call_format: str | None = None
    client_view: ClientView = UNKNOWN_CLIENT
    # The time between runs.
    interval: timedelta = timedelta(hours=6)
