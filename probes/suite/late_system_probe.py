from __future__ import annotations

import random
from dataclasses import dataclass

from probes.adapters import FORMATS
from probes.history.model_conversation import Conversation
from probes.losses import LossKind
from probes.messages import ModelCall, Reply, Stop, Text
from probes.outcomes import FindingKind, Metric
from probes.suite.base import Answer, DrawnValues, Question, Script
from probes.suite.question_builder import OWN_ORIGIN, QuestionBuilder
from probes.suite.random_words import draw_nonce, draw_phrase
from probes.suite.script_steps import ScriptSession

RULE = 'End every reply with the word "{word}".'
GREETING, GREETED = "Good morning.", "Good morning. What can I do for you?"
TASK = 'Say "{text}".'


@dataclass(frozen=True, slots=True)
class LateSystemProbe:
    """Sends the same system message at the beginning and after the first turns."""

    name: str = "late_system"
    question: str = "Late system message: is it followed, ignored or rejected?"
    settles: str = "Where in a conversation system messages work."
    passes: str = "A first system message is followed. What happens to a later one is recorded."
    fails: str = "Even a system message at the beginning is not followed."
    requests: int = 2
    refusal_metrics: tuple[Metric, ...] = ()

    def draw(self, rng: random.Random) -> DrawnValues:
        return DrawnValues({"text": draw_phrase(rng), "word": draw_nonce(rng)})

    def script(self, drawn: DrawnValues, builder: QuestionBuilder) -> Script:
        session = ScriptSession(builder, ())
        calls = {
            "first": builder.call(_conversation(drawn, late=False), ()),
            "late": builder.call(_conversation(drawn, late=True), ()),
        }
        if not _carries_late_system(builder, calls["late"]):
            del calls["late"]
        answers = yield tuple(Question(call, f"system {name}") for name, call in calls.items())
        named_answers = dict(zip(calls, answers, strict=True))
        first, late = named_answers["first"], named_answers.get("late")
        if first.reply is None:
            return session.judge_refusal(first)
        for answer in answers:
            if answer.reply is not None:
                session.note_deviations(answer.reply)
        if _follows(first, drawn):
            session.facts["system_position"] = _position(late, drawn)
        else:
            message = "The system message at the beginning is not followed."
            session.add_finding(FindingKind.WRONG_VALUE, message, "$.text")
        return session.judge()


def _conversation(drawn: DrawnValues, *, late: bool) -> Conversation:
    conversation = Conversation()
    rule = RULE.format(**drawn.values)
    if not late:
        conversation.add_system(rule)
    conversation.add_user(GREETING)
    conversation.add_reply(Reply((Text(GREETED),), Stop.END), OWN_ORIGIN)
    if late:
        conversation.add_system(rule)
    conversation.add_user(TASK.format(**drawn.values))
    return conversation


def _carries_late_system(builder: QuestionBuilder, call: ModelCall) -> bool:
    """Whether the wire format has a place for it; otherwise it would move to the beginning."""
    losses = FORMATS[builder.format].losses(call)
    return all(loss.kind is not LossKind.BLOCK_ORDER for loss in losses)


def _follows(answer: Answer, drawn: DrawnValues) -> bool:
    text = answer.reply.text if answer.reply else None
    return str(drawn.values["word"]) in (text or "")


def _position(late: Answer | None, drawn: DrawnValues) -> str:
    """Where system messages work; both questions differ in nothing but the position."""
    if late is None or late.reply is None:
        return "first_only"
    return "anywhere" if _follows(late, drawn) else "ignored"


LATE_SYSTEM = LateSystemProbe()
