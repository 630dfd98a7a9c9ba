from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

from probes.history.model_conversation import Conversation
from probes.messages import JSON, Reasoning, Text, Turn
from probes.outcomes import FindingKind, Metric, Verdict
from probes.suite.base import Answer, DrawnValues, Judgement, Question, Script
from probes.suite.probe_tools import PROBE_ECHO, TAGS
from probes.suite.question_builder import OWN_ORIGIN, QuestionBuilder
from probes.suite.random_words import draw_nonce, draw_phrase
from probes.suite.script_steps import (
    REPLAY_KINDS,
    ScriptSession,
    add_call_results,
    has_nonce,
    start_conversation,
)
from probes.suite.turn_judge import JudgedTurn

PROMPT = """\
Call the tool {tool} once, with these arguments:
message: {message}
tag: {tag}
Its result holds a nonce. When you have it, reply with it exactly as it is, without a tool."""

# The call and its result where they are sent as text.
TEXT_CALL = "I call this tool: "
TEXT_RESULT = "Tool result: "


@dataclass(frozen=True, slots=True)
class RoundTripProbe:
    """Asks for a call, returns its result, and looks for the result in the answer."""

    name: str = "round_trip"
    question: str = "Round trip: is a tool result accepted and used in the answer?"
    settles: str = "Whether results reach the model under the id of their call, or else as text."
    passes: str = "The history is accepted, and the answer has a word that is only in the result."
    fails: str = "The history is rejected, or the answer does not use the result."
    # One more if the endpoint requires its reasoning back, and one if the result fails.
    requests: int = 4
    refusal_metrics: tuple[Metric, ...] = (Metric.PARSE_SUCCESS,)

    def draw(self, rng: random.Random) -> DrawnValues:
        return DrawnValues(
            {"message": draw_phrase(rng), "tag": rng.choice(TAGS), "nonce": draw_nonce(rng)}
        )

    def script(self, drawn: DrawnValues, builder: QuestionBuilder) -> Script:
        session = ScriptSession(builder, (PROBE_ECHO,))
        expected = {name: drawn.values[name] for name in ("message", "tag")}
        conversation = start_conversation(PROMPT.format(tool=PROBE_ECHO.name, **expected))
        turn = yield from session.ask_for_calls(conversation, self.refusal_metrics)
        if isinstance(turn, Judgement):
            return turn
        session.check_values(turn, [(PROBE_ECHO.name, expected)])
        nonce = str(drawn.values["nonce"])
        result: Mapping[str, JSON] = {"ok": True, "nonce": nonce}
        question = conversation.turns[0]
        add_call_results(conversation, turn, [(result, False)] * len(turn.calls))
        answer = yield from session.ask(conversation, "with the result")
        if answer.reply is not None:
            session.note_deviations(answer.reply)
            session.check_result_use(turn, answer.reply, [nonce])
        if turn.unfit or _is_used(answer, nonce) or not _is_about_result(answer):
            return _judge_native(session, turn, answer)
        as_text = _with_text_result(question, turn, result)
        call = builder.call(as_text, session.tools)
        (text_answer,) = yield (Question(call, "with the result as text"),)
        return _judge_with_text(session, answer, text_answer, nonce)


def _is_used(answer: Answer, nonce: str) -> bool:
    return answer.reply is not None and has_nonce(answer.reply, nonce)


def _is_about_result(answer: Answer) -> bool:
    """Whether an answer that fails may be about the way in which the result was sent."""
    others = REPLAY_KINDS | {FindingKind.SERVER_PARSE}
    return answer.refusal is None or answer.refusal.kind not in others


def _judge_native(session: ScriptSession, turn: JudgedTurn, answer: Answer) -> Judgement:
    """The judgement without a result as text, which was not needed or would prove nothing."""
    if answer.reply is None:
        return session.judge_refusal(answer)
    if not turn.unfit:
        session.facts["result_role"] = "tool"
    return session.judge()


def _judge_with_text(
    session: ScriptSession, answer: Answer, text_answer: Answer, nonce: str
) -> Judgement:
    """The judgement after a result that failed in its own role and was sent again as text."""
    if text_answer.reply is None:
        # Then the refusal of the result may be about anything.
        return session.judge() if answer.refusal is None else session.judge_refusal(answer)
    session.facts["result_role"] = "user_text" if _is_used(text_answer, nonce) else "none"
    if answer.refusal is not None:
        session.add_finding(answer.refusal.kind, answer.refusal.message)
        session.verdicts.append(Verdict(Metric.RESULT_USE, good=False))
    return session.judge()


def _with_text_result(question: Turn, turn: JudgedTurn, result: Mapping[str, JSON]) -> Conversation:
    """The history of a client that knows no messages but text."""
    call = turn.calls[0]
    body = json.dumps({"name": call.name, "arguments": call.input}, ensure_ascii=False)
    kept = tuple(part for part in turn.reply.parts if isinstance(part, Reasoning))
    conversation = Conversation([question])
    conversation.add_reply(replace(turn.reply, parts=(*kept, Text(TEXT_CALL + body))), OWN_ORIGIN)
    conversation.add_user(TEXT_RESULT + json.dumps(result))
    return conversation


ROUND_TRIP = RoundTripProbe()
