"""Which reasoning an endpoint takes back, as far as a run knows it.

The scripts of a run share one `ReplayLessons`: what a refusal taught one of them is the rule for
the questions that the others ask from then on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from probes.dialects.base import Dialect, ReplayRule, override_dialect
from probes.history.reasoning_replay import last_question
from probes.messages import ReasoningKind, Turn

# Values of the capability `reasoning_replay` that say what an endpoint takes.
MEASURED_RULES = ("tolerated", "required_same_turn", "required_all_turns", "rejected")


class Lesson(StrEnum):
    """The rule of a question: the one that the run started with, or what a refusal taught."""

    STARTING = "starting"
    ALL = "with all reasoning"
    NONE = "without reasoning"

    def apply(self, dialect: Dialect) -> Dialect:
        """The dialect with this rule."""
        match self:
            case Lesson.ALL:
                carries = frozenset(ReasoningKind)
                rule = ReplayRule.ALL_TURNS
                return replace(dialect, replay=rule, carries=carries, replay_needs_tools=False)
            case Lesson.NONE:
                return replace(dialect, replay=ReplayRule.NONE)
            case _:
                return dialect


@dataclass
class ReplayLessons:
    """The rule in force, and the rules that are more than an assumption.

    A rule is proven by an earlier run, by a lesson, or by a history that was taken; one within a
    turn proves nothing about later turns.
    """

    rule: Lesson = Lesson.STARTING
    _proven: set[tuple[Lesson, bool]] = field(default_factory=set)

    @classmethod
    def from_measured(cls, reasoning_replay: str) -> ReplayLessons:
        """The start of a run: `reasoning_replay` is the capability that the last one measured."""
        is_measured = reasoning_replay in MEASURED_RULES
        proven = {(Lesson.STARTING, spans) for spans in (False, True)} if is_measured else set()
        return cls(_proven=proven)

    def is_proven(self, rule: Lesson, turns: Sequence[Turn]) -> bool:
        """Whether a refusal of this history under the rule is a failure of the endpoint."""
        return (rule, _spans_turns(turns)) in self._proven

    def prove(self, rule: Lesson, turns: Sequence[Turn]) -> None:
        """A history was taken under the rule."""
        self._proven.add((rule, _spans_turns(turns)))

    def learn(self, rule: Lesson) -> None:
        """A history that was refused was taken under this rule."""
        self.rule = rule
        self._proven |= {(rule, False), (rule, True)}


def starting_dialect(dialect: Dialect, reasoning_replay: str) -> Dialect:
    """The dialect with the replay rule that the last run measured, if it did."""
    return override_dialect(dialect, {"reasoning_replay": reasoning_replay})


def _spans_turns(turns: Sequence[Turn]) -> bool:
    """Whether calls were made before the last question of the user."""
    return any(turn.calls for turn in turns[: max(last_question(turns), 0)])
