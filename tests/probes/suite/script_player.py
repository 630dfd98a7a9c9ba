"""Runs a probe's script without a network: scripted answers in, questions and verdict out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from probes.dialects import DIALECTS
from probes.errors import Refused
from probes.messages import (
    JSON,
    ModelCall,
    Part,
    Reasoning,
    ReasoningKind,
    Reply,
    Stop,
    Text,
    ToolCall,
)
from probes.outcomes import FindingKind
from probes.suite import Answer, DrawnValues, Judgement, Probe, Question
from probes.suite.question_builder import QuestionBuilder
from probes.suite.replay_lessons import ReplayLessons
from probes.target import Provider

OPENAI = QuestionBuilder("m", DIALECTS[Provider.OPENAI], "openai")
DEEPSEEK = QuestionBuilder("m", DIALECTS[Provider.DEEPSEEK], "openai")

# As if an earlier run had measured the rule of the dialect.
OPENAI_MEASURED = replace(OPENAI, replay=ReplayLessons.from_measured("tolerated"))
DEEPSEEK_MEASURED = replace(DEEPSEEK, replay=ReplayLessons.from_measured("required_all_turns"))

ScriptedAnswer: TypeAlias = "Reply | Refused | Answer"


@dataclass
class Played:
    """A finished script: its judgement, and every question that it asked."""

    judged: Judgement
    questions: list[Question] = field(default_factory=list)
    rounds: list[tuple[str, ...]] = field(default_factory=list)

    @property
    def outcome(self) -> str:
        return str(self.judged.outcome)

    @property
    def kinds(self) -> list[str]:
        return [str(finding.kind) for finding in self.judged.findings]

    @property
    def facts(self) -> Mapping[str, JSON]:
        return self.judged.facts

    @property
    def trials(self) -> dict[str, list[bool]]:
        """By metric, whether each of its trials was good."""
        trials: dict[str, list[bool]] = defaultdict(list)
        for verdict in self.judged.verdicts:
            trials[str(verdict.metric)].append(verdict.good)
        return dict(trials)

    def call(self, label: str) -> ModelCall:
        """The question with this label."""
        (question_call,) = [question.call for question in self.questions if question.label == label]
        return question_call


def play(
    probe: Probe, drawn: DrawnValues, *answers: ScriptedAnswer, builder: QuestionBuilder = OPENAI
) -> Played:
    """Give the answers in order, one per question; all of them must be used."""
    remaining = list(answers)
    played = play_by_question(probe, drawn, lambda question: remaining.pop(0), builder=builder)
    assert not remaining, f"{len(remaining)} answers were not asked for"
    return played


def play_by_question(
    probe: Probe,
    drawn: DrawnValues,
    answer: Callable[[Question], ScriptedAnswer],
    *,
    builder: QuestionBuilder = OPENAI,
) -> Played:
    """Compute the answer to each question. What one play teaches is unknown to the next."""
    script = probe.script(drawn, replace(builder, replay=deepcopy(builder.replay)))
    played = Played(Judgement(None))  # type: ignore[arg-type]
    try:
        questions = next(script)
        while True:
            played.questions += questions
            played.rounds.append(tuple(question.label for question in questions))
            questions = script.send([_answer(answer(question)) for question in questions])
    except StopIteration as stop:
        played.judged = stop.value
    return played


def by_label(answers: Mapping[str, ScriptedAnswer]) -> Callable[[Question], ScriptedAnswer]:
    """Answer each question by its label."""
    return lambda question: answers[question.label]


def call(name: str, arguments: Mapping[str, JSON], id_: str = "c1") -> ToolCall:
    return ToolCall(id_, name, arguments, "openai", "")


def calls(*parts: Part) -> Reply:
    return Reply(parts, Stop.TOOL_CALLS)


def prose(text: str = "I would rather talk about it.") -> Reply:
    return Reply((Text(text),), Stop.END)


def thought(text: str = "Hm.") -> Reasoning:
    return Reasoning(text, ReasoningKind.FIELD, "reasoning_content")


def refusal(kind: FindingKind, message: str = "No.") -> Refused:
    return Refused(400, message, kind)


def _answer(scripted: ScriptedAnswer) -> Answer:
    if isinstance(scripted, Answer):
        return scripted
    return Answer(refusal=scripted) if isinstance(scripted, Refused) else Answer(scripted)
