"""Steps that scripts share: ask, judge the turn, return results, judge a refusal."""

from __future__ import annotations

import json
import re
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
    Text,
    ToolCall,
    ToolChoice,
    ToolResult,
    ToolSpec,
    Turn,
)
from probes.outcomes import Finding, FindingKind, Metric, Outcome, Verdict
from probes.suite.base import Answer, Judgement, Question
from probes.suite.question_builder import OWN_ORIGIN, QuestionBuilder
from probes.suite.replay_lessons import Lesson
from probes.suite.turn_judge import (
    Arrival,
    JudgedTurn,
    find_wrong_order,
    find_wrong_values,
    judge_turn,
    value_verdicts,
)

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
        FindingKind.ROLE_REFUSED,
    }
)
_SPELLING = re.compile(r"[\s\-\u2010-\u2015]+")
Steps: TypeAlias = "Generator[Sequence[Question], Sequence[Answer], Answer]"


@dataclass
class ScriptSession:
    """One script's exchange with an endpoint, and the findings and verdicts it collects."""

    builder: QuestionBuilder
    tools: tuple[ToolSpec, ...]
    findings: list[Finding] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    formats: list[str | None] = field(default_factory=list)
    deviations: dict[str, list[str]] = field(default_factory=dict)
    # How the calls of each judged turn arrived, whole and streamed.
    arrivals: dict[str, list[str]] = field(default_factory=lambda: {"whole": [], "streamed": []})
    facts: dict[str, JSON] = field(default_factory=dict)

    def ask(
        self,
        conversation: Conversation,
        label: str = "asked",
        *,
        choice: ToolChoice | None = None,
        parallel: bool | None = None,
    ) -> Steps:
        """Ask the next question of a conversation.

        A history with results is a trial of closure; with reasoning before a call it is a trial of
        replay. If the endpoint requires more or less reasoning than the rule in force, the
        question is repeated accordingly.
        """

        def question(builder: QuestionBuilder, label: str) -> Question:
            call = builder.call(conversation, self.tools, choice=choice, parallel=parallel)
            return Question(call, label)

        turns, rule = tuple(conversation.turns), self.builder.replay.rule
        asked = question(self.builder, label)
        (answer,) = yield (asked,)
        if answer.refusal is None or not is_about_reasoning(turns, answer.refusal):
            self.judge_continuation(turns, rule, answer)
            return answer
        lesson = lesson_of(answer.refusal)
        other = question(self.builder.with_rule(lesson), f"{label}, {lesson}")
        (repeated,) = yield (other,)
        can_teach = other.call != asked.call
        self.judge_repeated(turns, rule, answer, repeated, lesson if can_teach else None)
        return repeated

    def judge_continuation(self, turns: Sequence[Turn], rule: Lesson, answer: Answer) -> None:
        """Count a continuation that was not refused for its reasoning."""
        self.verdicts += continuation_verdicts(turns, answer)
        if answer.reply is not None and has_reasoned_call(turns):
            self.builder.replay.prove(rule, turns)

    def judge_repeated(
        self,
        turns: Sequence[Turn],
        rule: Lesson,
        refused: Answer,
        repeated: Answer,
        lesson: Lesson | None,
    ) -> None:
        """Count a continuation that was refused for its reasoning and then asked with another rule.

        An assumed rule that is refused is no failure: its refusal teaches, and the repeated
        question is the trial. Without a lesson, both questions were the same.
        """
        assert refused.refusal is not None
        is_taken = repeated.reply is not None
        verdicts = continuation_verdicts(turns, repeated)
        if lesson is None or not is_taken or self.builder.replay.is_proven(rule, turns):
            self.add_finding(refused.refusal.kind, refused.refusal.message)
            verdicts = [v for v in verdicts if v.metric is not Metric.REASONING_REPLAY_ERROR]
            if has_reasoned_call(turns):
                verdicts.append(Verdict(Metric.REASONING_REPLAY_ERROR, good=False))
        self.verdicts += verdicts
        if lesson is not None and is_taken:
            self.builder.replay.learn(lesson)

    def ask_for_calls(
        self, conversation: Conversation, refusal_metrics: Sequence[Metric]
    ) -> Generator[Sequence[Question], Sequence[Answer], JudgedTurn | Judgement]:
        """Ask the first question: returns the turn with its calls, or the verdict without calls."""
        answer = yield from self.ask(conversation)
        if answer.reply is None:
            return self.judge_refusal(answer, refusal_metrics)
        turn = self.judge_turn(answer.reply)
        return turn if turn.calls else self.judge()

    def judge_turn(
        self, reply: Reply, *, may_stop: bool = False, streamed: bool | None = None
    ) -> JudgedTurn:
        """Judge a turn that must have a call, and collect its findings and verdicts.

        A turn that may stop and answers in prose does not count as a trial of parsing.
        """
        turn = judge_turn(reply, self.tools)
        if may_stop and turn.is_prose:
            return turn
        self.findings += turn.faults
        self.verdicts += turn.verdicts
        self.formats.append(turn.shown_format)
        self.record_arrival(turn.arrival, streamed=streamed)
        self.note_deviations(reply, streamed=streamed)
        return turn

    def check_values(
        self,
        turn: JudgedTurn,
        expected: Sequence[tuple[str, Mapping[str, JSON]]],
        *,
        streamed: bool | None = None,
        ordered: bool = False,
        counts: bool = True,
    ) -> tuple[Finding, ...]:
        """Compare the calls of the turn judged last with the expected ones, if they can be.

        Their values count as trials, unless the caller picked the turn by its values.
        """
        if not turn.calls or turn.unfit:
            return ()
        faults = find_wrong_values(turn.calls, expected)
        self.verdicts += value_verdicts(turn.calls, expected, self.tools) if counts else ()
        faults += find_wrong_order(turn.calls, expected) if ordered else ()
        self.findings += faults
        seen = self.arrivals[self.side(streamed)]
        if faults and seen[-1] != Arrival.REFUSED:
            is_lost = any(fault.kind is FindingKind.NO_CALL for fault in faults)
            seen[-1] = Arrival.LOSES_CALLS if is_lost else Arrival.GARBLES
        return faults

    def check_result_use(self, turn: JudgedTurn, reply: Reply, nonces: Sequence[str]) -> None:
        """Look in an answer that must use the results of a turn for what only they say.

        Results of calls that were not offered, or do not fit, prove nothing: no client has any.
        """
        if turn.unfit:
            return
        missing = [nonce for nonce in nonces if not has_nonce(reply, nonce)]
        message = f"The answer does not contain {', '.join(missing)}, which only the result says."
        self.record_result_use(message, "$.text", used=not missing)

    def record_result_use(self, message: str, path: str, *, used: bool) -> None:
        """Count a turn that must use a result; if it does not, the message is a finding."""
        self.verdicts.append(Verdict(Metric.RESULT_USE, used))
        if not used:
            self.add_finding(FindingKind.RESULT_UNUSED, message, path)

    def record_arrival(self, arrival: str, *, streamed: bool | None = None) -> None:
        self.arrivals[self.side(streamed)].append(arrival)

    def side(self, streamed: bool | None = None) -> str:
        """Where answers are counted: by default, as the attempt asks its questions."""
        return "streamed" if (self.builder.stream if streamed is None else streamed) else "whole"

    def note_deviations(self, reply: Reply, *, streamed: bool | None = None) -> None:
        """Record deviations of the answer from its format; a deviation fails nothing."""
        if names := dict.fromkeys(item.name for item in reply.deviations):
            seen = self.deviations.setdefault(self.side(streamed), [])
            seen += [name for name in names if name not in seen]

    def add_finding(self, kind: FindingKind, message: str, path: str = "") -> None:
        self.findings.append(Finding(kind, message, path))

    def judge(self) -> Judgement:
        """Pass if there are no findings."""
        return self._judgement(Outcome.FAIL if self.findings else Outcome.PASS)

    def judge_refusal(
        self,
        answer: Answer,
        refusal_metrics: Sequence[Metric] = (),
        *,
        streamed: bool | None = None,
    ) -> Judgement:
        """The judgement of a script that ends because its question was refused."""
        assert answer.refusal is not None
        if answer.refusal.kind not in REPLAY_KINDS | CLOSURE_KINDS:
            # A refusal of the history says nothing about the way in which calls arrive.
            self.record_arrival(Arrival.REFUSED, streamed=streamed)
        error_judgement = judge_error(answer.refusal, tuple(refusal_metrics))
        self.findings += error_judgement.findings
        self.verdicts += error_judgement.verdicts
        has_failure = any(not verdict.good for verdict in self.verdicts)
        return self._judgement(Outcome.FAIL if has_failure else error_judgement.outcome)

    def _judgement(self, outcome: Outcome) -> Judgement:
        facts: dict[str, JSON] = {**self.facts, "formats": list(self.formats)}
        if self.builder.stream:
            facts["streamed"] = True
        facts["turns"] = {side: list(seen) for side, seen in self.arrivals.items() if seen}
        if self.deviations:
            facts["deviations"] = {side: list(names) for side, names in self.deviations.items()}
        return Judgement(outcome, tuple(self.findings), tuple(self.verdicts), facts)


def has_nonce(reply: Reply, nonce: str) -> bool:
    """Whether an answer says a nonce, however it is spelled."""
    return _spell(nonce) in _spell(reply.text or "")


def _spell(text: str) -> str:
    """The text without case, white space and hyphens, which say nothing about a nonce."""
    return _SPELLING.sub("", text.casefold())


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


def lesson_of(refusal: Refused) -> Lesson:
    """The rule to try after a refusal that is about reasoning."""
    return Lesson.NONE if refusal.kind is FindingKind.PARAM_UNKNOWN else Lesson.ALL


def has_reasoned_call(turns: Sequence[Turn]) -> bool:
    """Whether an assistant turn has a call together with reasoning or a signature."""
    return any(turn.calls and is_reasoned(turn) for turn in turns)


def is_reasoned(turn: Turn) -> bool:
    """Whether a turn carries reasoning or a signature of it."""
    if any(isinstance(part, Reasoning) for part in turn.parts):
        return True
    # In a stream, the signature of a call may come on a text part behind it.
    return any(_is_signed(part) for part in turn.parts if isinstance(part, ToolCall | Text))


def _is_signed(part: ToolCall | Text) -> bool:
    own = part.extra.get("gemini")
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
