"""Histories with tool results: valid ones must be accepted, refusals of broken ones are noted."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from probes.history.model_conversation import Conversation
from probes.history.trimming import TrimBudget, trim_turns
from probes.messages import JSON, ModelCall, Reply, Role, Stop, Text, ToolResult, Turn
from probes.outcomes import Metric
from probes.suite import two_turns
from probes.suite.base import Answer, DrawnValues, Judgement, Question, Script
from probes.suite.probe_tools import PROBE_ADD, PROBE_ECHO
from probes.suite.question_builder import OWN_ORIGIN, QuestionBuilder
from probes.suite.script_steps import (
    ScriptSession,
    add_call_results,
    add_plain_answer,
    start_conversation,
)
from probes.suite.two_turns import NEXT, PROMPT

GREETING, GREETED = "Good morning.", "Good morning. What can I do?"


@dataclass(frozen=True, slots=True)
class ClosureProbe:
    """Sends a trimmed history, and histories broken on purpose in three ways."""

    name: str = "closure"
    question: str = "Trimmed history: is it accepted, and how are broken ones rejected?"
    settles: str = "Whether histories can be trimmed, and which errors broken ones cause."
    passes: str = "The whole and the trimmed history are accepted, and the result is used."
    fails: str = "A history whose calls and results all match is rejected, or the result is unused."
    requests: int = 8
    refusal_metrics: tuple[Metric, ...] = (Metric.PARSE_SUCCESS,)

    def draw(self, rng: random.Random) -> DrawnValues:
        return two_turns.draw_values(rng)

    def script(self, drawn: DrawnValues, builder: QuestionBuilder) -> Script:
        session = ScriptSession(builder, (PROBE_ECHO, PROBE_ADD))
        conversation = start_conversation(GREETING)
        conversation.add_reply(Reply((Text(GREETED),), Stop.END), OWN_ORIGIN)
        conversation.add_user(PROMPT.format(tool=PROBE_ADD.name, **drawn.values))
        turn = yield from session.ask_for_calls(conversation, self.refusal_metrics)
        if isinstance(turn, Judgement):
            return turn
        add_call_results(
            conversation, turn, [({"nonce": drawn.values["nonce"]}, False)] * len(turn.calls)
        )
        whole = yield from session.ask(conversation, "whole")
        # After the whole history: where it was refused, it has taught which reasoning is due.
        broken = _broken_histories(session, conversation)
        answers = yield tuple(Question(call, name) for name, call in broken.items())
        session.facts["violations"] = {
            name: _acceptance(answer) for name, answer in zip(broken, answers, strict=True)
        }
        if whole.reply is None:
            return session.judge_refusal(whole)
        if not whole.reply.calls:
            session.check_result_use(turn, whole.reply, [str(drawn.values["nonce"])])
        add_plain_answer(conversation, whole.reply, session.tools)
        conversation.add_user(NEXT.format(tool=PROBE_ECHO.name, **drawn.values))
        budget = TrimBudget(len(conversation.turns) - 1)
        rule = builder.dialect_in_force.replay
        trimmed = trim_turns(conversation.turns, budget, rule=rule)
        answer = yield from session.ask(Conversation(list(trimmed.turns)), "trimmed")
        session.facts["trimmed"] = _acceptance(answer)
        if answer.reply is None:
            return session.judge_refusal(answer)
        session.judge_turn(answer.reply)
        return session.judge()


def _broken_histories(session: ScriptSession, conversation: Conversation) -> dict[str, ModelCall]:
    """The same history without its result, with a duplicate result, and with an orphan result."""
    # A vendor may refuse ids that it gave out itself, which is another matter.
    turns = session.builder.sent_turns(conversation)
    results = turns[-1]
    foreign = ToolResult("call_that_never_was", "{}", name=PROBE_ADD.name)
    wrong = {
        "missing": (*turns[:-1], Turn(Role.USER, (Text("Go on."),))),
        "orphan": (*turns[:-2], replace(results, parts=(foreign,))),
        "duplicate": (*turns[:-1], replace(results, parts=(*results.parts, *results.parts))),
    }
    builder = session.builder
    return {name: builder.unchecked_call(broken, session.tools) for name, broken in wrong.items()}


def _acceptance(answer: Answer) -> JSON:
    return "taken" if answer.refusal is None else str(answer.refusal.kind)


CLOSURE = ClosureProbe()
