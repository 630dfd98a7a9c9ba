"""Where a profile stands before its next stage: conditions with their figures, as values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any

from typing_extensions import override

from health.detector import Known
from health.metric_names import metric_name
from health.translation import say
from probes.outcomes import Metric

# What a condition rests on: ("run", id), ("incident", id), ("metric", name), ("profile", epoch).
Evidence = tuple[str, int | str]


class ConditionState(StrEnum):
    MET = "met"
    NOT_MET = "not_met"
    INCONCLUSIVE = "inconclusive"  # more trials would settle it
    NO_DATA = "no_data"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence that finds its language when it is shown."""

    # Marked; or, where it depends on a count, what says it by `say_many`.
    text: str | Callable[[int], str]
    values: Mapping[str, Any] = field(default_factory=dict)

    @override
    def __str__(self) -> str:
        text = self.text
        said = say(text) if isinstance(text, str) else text(self.values["count"])
        return said.format(**self.values)


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
class GateCondition:
    """One thing that the next stage rests on. `figure` and `wanted` are numbers or codes."""

    key: str  # such as runs, rate.parse_success, live.schema_failure, baseline, age
    state: ConditionState
    told: Sentence
    figure: float | int | str | None
    wanted: float | int | str
    evidence: Evidence | None = None

    @property
    def words(self) -> str:
        """The condition as a sentence with its figures, in the reader's language."""
        return str(self.told)

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
    """Where a profile stands before its next stage; without one there are no conditions."""

    stage: str
    next: str | None
    conditions: tuple[GateCondition, ...]
    # The GateVersion; None is the default gates.
    version: int | None

    @property
    def may_be_asked(self) -> bool:
        return self.next is not None and all(each.is_met for each in self.conditions)

    @property
    def paused(self) -> bool:
        """Nothing speaks against it, and something is not known yet."""
        states = {each.state for each in self.conditions}
        return ConditionState.NOT_MET not in states and bool(
            states & {ConditionState.INCONCLUSIVE, ConditionState.NO_DATA}
        )

    @property
    def missing(self) -> tuple[GateCondition, ...]:
        return tuple(each for each in self.conditions if not each.is_met)


@dataclass(frozen=True, slots=True)
class TrialCounts:
    """The trials of a metric over some runs."""

    trials: int
    failures: int
    runs: int = 1


@dataclass(frozen=True, slots=True)
class GateFacts:
    """All that the conditions are judged by."""

    stage: str
    epoch: int
    # At the present stage.
    age: timedelta
    # Finished runs under the present suite version, newest last; those with the full suite.
    runs: Sequence[int] = ()
    full_runs: Sequence[int] = ()
    figures: Mapping[Metric, TrialCounts] = field(default_factory=dict)
    baseline: Known = Known.NONE
    incidents: Sequence[int] = ()
    # Live trials since the present stage began.
    live: Mapping[Metric, TrialCounts] = field(default_factory=dict)
    is_stale: bool = False
    is_spent_out: bool = False
    # As measured; None where nobody has measured it.
    tool_call_format: str | None = None
