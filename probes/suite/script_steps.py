"""Steps that scripts share: ask, judge the turn, return results, judge a refusal."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from probes.error_judge import judge_error
from probes.errors import Refused
from probes.history.model_conversation import Conversation
from probes.messages import (
    JSON,
    Reasoning,
    Reply,
    Role,
    ToolCall,
    ToolChoice,
    ToolResult,
    ToolSpec,
    Turn,
)
from probes.outcomes import Finding, FindingKind, Metric, Outcome, Verdict
from probes.suite.base import Answer, Judgement, Question
from probes.suite.question_builder import OWN_ORIGIN, QuestionBuilder
from probes.suite.turn_judge import JudgedTurn, judge_turn

REPLAY_KINDS = frozenset(
    {
        FindingKind.REPLAY_MISSING,
        FindingKind.REPLAY_SIGNATURE_MISSING,
        FindingKind.REPLAY_SIGNATURE_BAD,
        FindingKind.REPLAY_PREFIX_BOUND,
        FindingKind.REPLAY_ITEM,
    }
)
CLOSURE_KINDS = frozenset(
    {
        FindingKind.CLOSURE_MISSING,
        FindingKind.CLOSURE_ORPHAN,
        FindingKind.CLOSURE_DUPLICATE,
        FindingKind.CLOSURE_ORDER,
        FindingKind.ID_FORMAT,
        FindingKind.ARGS_HISTORY,
    }
)
Steps: TypeAlias = "Generator[Sequence[Question], Sequence[Answer], Answer]"


@dataclass
class ScriptSession:
    """One script's exchange with an endpoint, and the findings and verdicts it collects."""

    builder: QuestionBuilder
    tools: tuple[ToolSpec, ...]
    findings: list[Finding] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    formats: list[str | None] = field(default_factory=list)
    deviations: list[str] = field(default_factory=list)
    facts: dict[str, JSON] = field(default_factory=dict)

    def ask(
        self,
        conversation: Conversation,
        label: str = "asked",
        *,
        choice: ToolChoice | None = None,
        parallel: bool | None = None,
        stream: bool = False,
    ) -> Steps:
        """Ask the next question of a conversation.

        A history with results is a trial of closure; with reasoning before a call it is a trial of
        replay. If the endpoint requires more or less reasoning than the dialect assumes, the
        question is repeated accordingly.
        """

        def question(builder: QuestionBuilder, label: str) -> Question:
            call = builder.call(
                conversation, self.tools, choice=choice, parallel=parallel, stream=stream
            )
            return Question(call, label)

        (answer,) = yield (question(self.builder, label),)
        self.verdicts += continuation_verdicts(conversation.turns, answer)
        if answer.refusal is not None and is_about_reasoning(conversation.turns, answer.refusal):
            self.add_finding(answer.refusal.kind, answer.refusal.message)
            other, suffix = self.builder.with_all_reasoning(), "with all reasoning"
            if answer.refusal.kind is FindingKind.PARAM_UNKNOWN:
                other, suffix = self.builder.without_reasoning(), "without reasoning"
            (answer,) = yield (question(other, f"{label}, {suffix}"),)
        return answer

    def ask_for_calls(
        self, conversation: Conversation, refusal_metrics: Sequence[Metric]
    ) -> Generator[Sequence[Question], Sequence[Answer], JudgedTurn | Judgement]:
        """Ask the first question: returns the turn with its calls, or the verdict without calls."""
        answer = yield from self.ask(conversation)
        if answer.reply is None:
            return self.judge_refusal(answer, refusal_metrics)
        turn = self.judge_turn(answer.reply)
        return turn if turn.calls else self.judge()

    def judge_turn(self, reply: Reply, *, may_stop: bool = False) -> JudgedTurn:
        """Judge a turn that must have a call, and collect its findings and verdicts.

        A turn that may stop and answers in prose does not count as a trial of parsing.
        """
        turn = judge_turn(reply, self.tools)
        if may_stop and turn.is_prose:
            return turn
        self.findings += turn.faults
        self.verdicts += turn.verdicts
        self.formats.append(turn.format)
        self.note_deviations(reply)
        return turn

    def note_deviations(self, reply: Reply) -> None:
        """Record deviations of the answer from its format; a deviation fails nothing."""
        names = dict.fromkeys(item.name for item in reply.deviations)
        self.deviations += [name for name in names if name not in self.deviations]

    def add_finding(self, kind: FindingKind, message: str, path: str = "") -> None:
        self.findings.append(Finding(kind, message, path))

    def judge(self) -> Judgement:
        """Pass if there are no findings."""
        return self._judgement(Outcome.FAIL if self.findings else Outcome.PASS)

    def judge_refusal(self, answer: Answer, refusal_metrics: Sequence[Metric] = ()) -> Judgement:
        """The judgement of a script that ends because its question was refused."""
        assert answer.refusal is not None
        error_judgement = judge_error(answer.refusal, tuple(refusal_metrics))
        self.findings += error_judgement.findings
        self.verdicts += error_judgement.verdicts
        has_failure = any(not verdict.good for verdict in self.verdicts)
        return self._judgement(Outcome.FAIL if has_failure else error_judgement.outcome)

    def _judgement(self, outcome: Outcome) -> Judgement:
        facts: dict[str, JSON] = {**self.facts, "formats": list(self.formats)}
        if self.deviations:
            facts["deviations"] = list(self.deviations)
        return Judgement(outcome, tuple(self.findings), tuple(self.verdicts), facts)


def continuation_verdicts(turns: Sequence[Turn], answer: Answer) -> list[Verdict]:
    """The trials that an answer to a conversation with tool results counts as."""
    if not any(turn.role is Role.TOOL for turn in turns):
        return []
    refusal = answer.refusal
    verdicts = []
    if refusal is None or refusal.kind in CLOSURE_KINDS:
        verdicts.append(Verdict(Metric.CLOSURE_ERROR, refusal is None))
    if has_reasoned_call(turns) and (refusal is None or is_about_reasoning(turns, refusal)):
        verdicts.append(Verdict(Metric.REASONING_REPLAY_ERROR, refusal is None))
    return verdicts


def is_about_reasoning(turns: Sequence[Turn], refusal: Refused) -> bool:
    """Whether the refusal is about reasoning, sent or missing."""
    if refusal.kind is FindingKind.PARAM_UNKNOWN:
        # After a turn with reasoning, that reasoning is what this request adds to the first.
        return has_reasoned_call(turns)
    return refusal.kind in REPLAY_KINDS


def has_reasoned_call(turns: Sequence[Turn]) -> bool:
    """Whether an assistant turn has a call together with reasoning or a signature."""
    return any(turn.calls and is_reasoned(turn) for turn in turns)


def is_reasoned(turn: Turn) -> bool:
    """Whether a turn carries reasoning or a signature of it."""
    if any(isinstance(part, Reasoning) for part in turn.parts):
        return True
    return any(_is_signed(call) for call in turn.calls)


def _is_signed(call: ToolCall) -> bool:
    own = call.extra.get("gemini")
    return isinstance(own, Mapping) and bool(own.get("thoughtSignature"))


def start_conversation(text: str) -> Conversation:
    """A conversation that begins with a user message."""
    conversation = Conversation()
    conversation.add_user(text)
    return conversation


def add_call_results(
    conversation: Conversation,
    turn: JudgedTurn,
    contents: Sequence[tuple[Mapping[str, JSON], bool]],
) -> None:
    """Add a turn and a result per call: its body, and whether it is an error."""
    conversation.add_reply(turn.as_history_reply, OWN_ORIGIN)
    conversation.add_results(
        ToolResult(call.id, json.dumps(body, ensure_ascii=False), is_error, call.name)
        for call, (body, is_error) in zip(turn.calls, contents, strict=True)
    )


def add_plain_answer(conversation: Conversation, reply: Reply, tools: Sequence[ToolSpec]) -> None:
    """Add an answer that needs no call; if it makes calls anyway, add their results."""
    turn = judge_turn(reply, tools)
    if turn.calls:
        add_call_results(conversation, turn, [({"ok": True}, False)] * len(turn.calls))
    else:
        conversation.add_reply(turn.as_history_reply, OWN_ORIGIN)
