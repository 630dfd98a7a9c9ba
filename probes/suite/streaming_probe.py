from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass

from probes.messages import JSON, Stop
from probes.outcomes import FindingKind, Metric, Verdict
from probes.suite.base import DrawnValues, Question, Script
from probes.suite.probe_tools import PROBE_ADD, PROBE_ECHO, TAGS
from probes.suite.question_builder import QuestionBuilder
from probes.suite.random_words import draw_phrase
from probes.suite.script_steps import ScriptSession, start_conversation
from probes.suite.turn_judge import JudgedTurn, judge_turn

PROMPT = """\
Make these two tool calls at the same time, both in one turn:
1. {echo} with {echo_arguments}
2. {add} with {add_arguments}"""


@dataclass(frozen=True, slots=True)
class StreamingProbe:
    """Asks the same question unstreamed and streamed, and compares the calls."""

    name: str = "streaming"
    question: str = "Do calls arrive in a stream as they do in a whole answer?"
    settles: str = "Whether tool calls may be streamed."
    passes: str = "The streamed calls are those of the whole answer, complete and in order."
    fails: str = "A stream loses calls, arguments or characters that the whole answer has."
    requests: int = 2
    refusal_metrics: tuple[Metric, ...] = (Metric.PARSE_SUCCESS,)

    def draw(self, rng: random.Random) -> DrawnValues:
        echo: JSON = {"message": f"{draw_phrase(rng)} “ünïcode” ☕", "tag": rng.choice(TAGS)}
        return DrawnValues({"echo": echo, "add": {"a": rng.randrange(99), "b": rng.randrange(99)}})

    def script(self, drawn: DrawnValues, builder: QuestionBuilder) -> Script:
        session = ScriptSession(builder, (PROBE_ECHO, PROBE_ADD))
        conversation = start_conversation(_prompt(drawn))
        whole, streamed = yield (
            Question(builder.call(conversation, session.tools), "whole"),
            Question(builder.call(conversation, session.tools, stream=True), "streamed"),
        )
        if whole.reply is None:
            return session.judge_refusal(whole, self.refusal_metrics)
        expected = session.judge_turn(whole.reply)
        if streamed.reply is None:
            session.facts["streams"] = False
            return session.judge_refusal(streamed, (Metric.STREAM_DISAGREEMENT,))
        streamed_turn = judge_turn(streamed.reply, session.tools)
        session.note_deviations(streamed.reply)
        if not expected.calls or not _claims_calls(streamed_turn):
            # Without calls on both sides there is nothing to compare.
            return session.judge()
        agree = _calls(streamed_turn) == _calls(expected) and not streamed_turn.reply.broken
        session.facts["streams"] = agree
        session.verdicts.append(Verdict(Metric.STREAM_DISAGREEMENT, agree))
        if not agree:
            message = "The streamed calls are not those of the whole answer."
            session.add_finding(FindingKind.STREAM_DIFFERS, message, "$.calls")
        return session.judge()


def _claims_calls(turn: JudgedTurn) -> bool:
    """Whether a turn has calls, on the wire or as text, or its stop reason says so."""
    ends_in_call = turn.reply.stop in (Stop.TOOL_CALLS, Stop.MALFORMED_CALL)
    ends_in_call = ends_in_call or turn.reply.stop_raw in ("tool_calls", "tool_use")
    return ends_in_call or not turn.is_prose


def _prompt(drawn: DrawnValues) -> str:
    echo, add = drawn.values["echo"], drawn.values["add"]
    return PROMPT.format(
        echo=PROBE_ECHO.name,
        echo_arguments=json.dumps(echo, ensure_ascii=False),
        add=PROBE_ADD.name,
        add_arguments=json.dumps(add),
    )


def _calls(turn: JudgedTurn) -> list[tuple[str, Mapping[str, JSON]]]:
    return sorted(((c.name, dict(c.input)) for c in turn.calls), key=json.dumps)


STREAMING = StreamingProbe()
