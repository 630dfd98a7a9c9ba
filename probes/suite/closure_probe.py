"""Histories with tool results: valid ones must be accepted, refusals of broken ones are noted."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from probes.history.model_conversation import Conversation
from probes.history.trimming import TrimBudget, trim_turns
from probes.messages import JSON, ModelCall, Reply, Role, Stop, Text, ToolResult, Turn
from probes.outcomes import Metric, Verdict
from probes.suite import two_turns
from probes.suite.base import Answer, DrawnValues, Judgement, Question, Script
from probes.suite.probe_tools import PROBE_ADD, PROBE_ECHO
from probes.suite.question_builder import OWN_ORIGIN, QuestionBuilder
from probes.suite.script_steps import (
    CLOSURE_KINDS,
    ScriptSession,
    add_call_results,
    add_plain_answer,
    continuation_verdicts,
    start_conversation,
)
from probes.suite.two_turns import NEXT, PROMPT

GREETING, GREETED = "Good morning.", "Good morning. What can I do?"


@dataclass(frozen=True, slots=True)
class ClosureProbe:
    """Sends a trimmed history, and histories broken on purpose in three ways."""

    name: str = "closure"
    question: str = "Is a trimmed history taken, and what is said to a broken one?"
    settles: str = "Whether histories may be shortened, and how broken ones are refused."
    passes: str = "The whole and the trimmed history are taken."
    fails: str = "A history whose calls and results all pair is refused."
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
        broken = _broken_histories(session, conversation)
        calls = {"whole": builder.call(conversation, session.tools), **broken}
        answers = dict(
            zip(calls, (yield tuple(Question(c, n) for n, c in calls.items())), strict=True)
        )
        session.facts["violations"] = {name: _acceptance(answers[name]) for name in broken}
        whole = answers["whole"]
        session.verdicts += continuation_verdicts(conversation.turns, whole)
        if whole.reply is None:
            return session.judge_refusal(whole)
        add_plain_answer(conversation, whole.reply, session.tools)
        conversation.add_user(NEXT.format(tool=PROBE_ECHO.name, **drawn.values))
        budget = TrimBudget(len(conversation.turns) - 1)
        trimmed = trim_turns(conversation.turns, budget, rule=builder.dialect.replay)
        (answer,) = yield (
            Question(builder.call(Conversation(list(trimmed.turns)), session.tools), "trimmed"),
        )
        session.facts["trimmed"] = _acceptance(answer)
        if answer.reply is None:
            if answer.refusal is not None and answer.refusal.kind in CLOSURE_KINDS:
                session.verdicts.append(Verdict(Metric.CLOSURE_ERROR, good=False))
            return session.judge_refusal(answer)
        session.judge_turn(answer.reply)
        return session.judge()


def _broken_histories(session: ScriptSession, conversation: Conversation) -> dict[str, ModelCall]:
    """The same history without its result, with a duplicate result, and with an orphan result."""
    turns = tuple(conversation.turns)
    results = turns[-1]
    foreign = ToolResult("call_that_never_was", "{}", name=PROBE_ADD.name)
    wrong = {
        "missing": (*turns[:-1], Turn(Role.USER, (Text("Go on."),))),
        "orphan": (*turns[:-2], replace(results, parts=(foreign,))),
        "duplicate": (*turns[:-1], replace(results, parts=(*results.parts, *results.parts))),
    }
    return {name: session.builder.raw_call(broken, session.tools) for name, broken in wrong.items()}


def _acceptance(answer: Answer) -> JSON:
    return "taken" if answer.refusal is None else str(answer.refusal.kind)


CLOSURE = ClosureProbe()
