from __future__ import annotations

import json
import random
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass

from probes.error_judge import judge_error
from probes.history.model_conversation import Conversation
from probes.messages import JSON, Reply
from probes.outcomes import Finding, FindingKind, Metric, Verdict
from probes.suite.base import Answer, DrawnValues, Judgement, Question, Script
from probes.suite.probe_tools import PROBE_ADD, PROBE_ECHO, TAGS
from probes.suite.question_builder import QuestionBuilder
from probes.suite.random_words import draw_fragile_text
from probes.suite.script_steps import ScriptSession, start_conversation
from probes.suite.turn_judge import (
    Arrival,
    find_wrong_order,
    find_wrong_values,
    judge_turn,
)

PROMPT = """\
Make these two tool calls at the same time, both in one turn and in this order:
1. {echo} with {echo_arguments}
2. {add} with {add_arguments}"""
# A model that errs at times errs in one of two answers more often than in one: what is wrong on one
# side only is that side's fault only if the same difference comes again.
MAX_REPEATS = 2
ExpectedCalls = Sequence[tuple[str, Mapping[str, JSON]]]


@dataclass(frozen=True, slots=True)
class StreamingProbe:
    """Asks the same question unstreamed and streamed, and judges each against the question."""

    name: str = "streaming"
    question: str = "Streaming: do calls arrive in a stream as in a whole answer?"
    settles: str = "Whether tool calls can be streamed."
    passes: str = "Whole and streamed, the calls arrive on the wire, complete and in order."
    fails: str = (
        "A stream leaks, loses or changes a call, breaks off, is rejected or arrives as a whole "
        "answer."
    )
    requests: int = 2 + 2 * MAX_REPEATS
    refusal_metrics: tuple[Metric, ...] = (Metric.PARSE_SUCCESS,)

    def draw(self, rng: random.Random) -> DrawnValues:
        echo: JSON = {"message": f"{draw_fragile_text(rng)} “ünïcode” ☕", "tag": rng.choice(TAGS)}
        return DrawnValues({"echo": echo, "add": {"a": rng.randrange(99), "b": rng.randrange(99)}})

    def script(self, drawn: DrawnValues, builder: QuestionBuilder) -> Script:
        session = ScriptSession(builder, (PROBE_ECHO, PROBE_ADD))
        conversation, expected = start_conversation(_prompt(drawn)), _expected_calls(drawn)
        whole, streamed = yield (
            Question(builder.call(conversation, session.tools, stream=False), "whole"),
            Question(
                builder.call(conversation, session.tools, stream=True), "streamed", may_break=True
            ),
        )
        if whole.reply is None:
            return session.judge_refusal(whole, self.refusal_metrics, streamed=False)
        whole_side = _judge_side(session, whole.reply, expected, streamed=False)
        if streamed.reply is None:
            return _judge_lost_stream(session, streamed, is_comparable=whole_side.is_right)
        streamed_side = _judge_side(session, streamed.reply, expected, streamed=True)
        if (yield from _is_chance(session, conversation, whole_side, streamed_side, expected)):
            # Nothing follows for the pair; each turn still counts on its side.
            session.verdicts.append(Verdict(Metric.STREAM_DISAGREEMENT, good=True))
        else:
            _compare_sides(session, whole_side, streamed_side)
        return session.judge()


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two answers, judged against the question."""

    arrival: str
    calls: ExpectedCalls
    is_right: bool


def _judge_side(
    session: ScriptSession, reply: Reply, expected: ExpectedCalls, *, streamed: bool
) -> _Side:
    before = len(session.findings)
    turn = session.judge_turn(reply, streamed=streamed)
    session.check_values(turn, expected, streamed=streamed, ordered=True)
    is_right = len(session.findings) == before
    arrival = session.arrivals[session.side(streamed)][-1]
    calls = [(call.name, call.input) for call in turn.calls]
    return _Side(arrival, calls, is_right)


def _is_chance(
    session: ScriptSession,
    conversation: Conversation,
    whole: _Side,
    streamed: _Side,
    expected: ExpectedCalls,
) -> Generator[Sequence[Question], Sequence[Answer], bool]:
    """Whether the difference does not come again: the wrong side is right, or the other one wrong.

    The repeated answers count in no metric: they were asked for because the first one was wrong.
    """
    wrong = streamed if whole.is_right else whole
    if whole.is_right == streamed.is_right or wrong.arrival == Arrival.REFUSED:
        return False
    for repeat in range(1, MAX_REPEATS + 1):
        answers = yield tuple(
            Question(
                session.builder.call(conversation, session.tools, stream=side == "streamed"),
                f"{side} again {repeat}",
                may_break=True,
            )
            for side in ("whole", "streamed")
        )
        is_right = [
            answer.reply is not None and not _find_faults(session, answer.reply, expected)
            for answer in answers
        ]
        if is_right != [whole.is_right, streamed.is_right]:
            return True
    return False


def _find_faults(
    session: ScriptSession, reply: Reply, expected: ExpectedCalls
) -> tuple[Finding, ...]:
    turn = judge_turn(reply, session.tools)
    faults = turn.faults + find_wrong_values(turn.calls, expected)
    return faults + find_wrong_order(turn.calls, expected)


def _compare_sides(session: ScriptSession, whole: _Side, streamed: _Side) -> None:
    """Whether the stream brings what was asked for; if nothing does, what the whole answer has."""
    has_same_fault = bool(whole.calls) and whole == streamed
    if not (whole.is_right or streamed.is_right or has_same_fault):
        return
    agree = whole.is_right == streamed.is_right
    session.facts["streams"] = streamed.is_right or has_same_fault
    session.verdicts.append(Verdict(Metric.STREAM_DISAGREEMENT, agree))
    if not agree:
        right, wrong = ("whole", "streamed") if whole.is_right else ("streamed", "whole")
        message = f"The {right} answer is right, and the {wrong} one is not."
        session.add_finding(FindingKind.STREAM_DIFFERS, message, "$.calls")


def _judge_lost_stream(
    session: ScriptSession, streamed: Answer, *, is_comparable: bool
) -> Judgement:
    """The judgement of a stream that was refused or that broke off."""
    lost = (Metric.STREAM_DISAGREEMENT,) if is_comparable else ()
    if is_comparable:
        session.facts["streams"] = False
    if streamed.broken is None:
        return session.judge_refusal(streamed, lost, streamed=True)
    session.record_arrival(Arrival.BROKEN_OFF, streamed=True)
    session.findings += judge_error(streamed.broken, ()).findings
    session.verdicts += [Verdict(metric, good=False) for metric in lost]
    return session.judge()


def _expected_calls(drawn: DrawnValues) -> ExpectedCalls:
    echo, add = drawn.values["echo"], drawn.values["add"]
    assert isinstance(echo, Mapping)
    assert isinstance(add, Mapping)
    return [(PROBE_ECHO.name, echo), (PROBE_ADD.name, add)]


def _prompt(drawn: DrawnValues) -> str:
    echo, add = drawn.values["echo"], drawn.values["add"]
    return PROMPT.format(
        echo=PROBE_ECHO.name,
        echo_arguments=json.dumps(echo, ensure_ascii=False),
        add=PROBE_ADD.name,
        add_arguments=json.dumps(add),
    )


STREAMING = StreamingProbe()
