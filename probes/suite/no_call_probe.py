"""Turns that expect no call: none must be made, and the text must arrive intact."""

from __future__ import annotations

import random
from dataclasses import dataclass

from probes.messages import Reply
from probes.outcomes import FindingKind, Metric
from probes.suite.base import DrawnValues, Script
from probes.suite.probe_tools import PROBE_ADD, PROBE_ECHO
from probes.suite.question_builder import QuestionBuilder
from probes.suite.random_words import draw_phrase
from probes.suite.script_steps import ScriptSession, start_conversation
from probes.suite.turn_judge import judge_turn

PROMPT = """\
Reply with exactly "{text}" and nothing else. Do not call any tool."""
# Quotes, a full stop or a polite word may surround the text.
MAX_EXTRA_CHARACTERS = 30
# Tags that engines are known to mistake for calls when a text only mentions them.
MENTIONS = ("The tag <tool_call> opens a call, {}", "Some write <function=name> in text, {}")


@dataclass(frozen=True, slots=True)
class NoCallProbe:
    """Offers tools and asks for a plain text."""

    name: str
    question: str
    settles: str
    texts: tuple[str, ...]
    passes: str = "The text arrives complete, without a call."
    fails: str = "An unrequested call, or a text that is cut, changed or missing."
    requests: int = 1
    refusal_metrics: tuple[Metric, ...] = ()

    def draw(self, rng: random.Random) -> DrawnValues:
        return DrawnValues({"text": rng.choice(self.texts).format(draw_phrase(rng))})

    def script(self, drawn: DrawnValues, builder: QuestionBuilder) -> Script:
        session = ScriptSession(builder, (PROBE_ECHO, PROBE_ADD))
        text = str(drawn.values["text"])
        answer = yield from session.ask(start_conversation(PROMPT.format(text=text)))
        if answer.reply is None:
            return session.judge_refusal(answer, self.refusal_metrics)
        session.note_deviations(answer.reply)
        called = _calls(answer.reply, session)
        if called:
            message = "A tool was called although the question forbids it."
            session.add_finding(FindingKind.EXTRA_CALL, message, "$.calls")
        visible = answer.reply.text or ""
        if text not in visible:
            message = f"The text {text!r} did not arrive whole."
            session.add_finding(FindingKind.WRONG_VALUE, message, "$.text")
        elif not called and len(visible) > len(text) + MAX_EXTRA_CHARACTERS:
            # Repeating the whole question is not an answer.
            session.add_finding(
                FindingKind.WRONG_VALUE, "More was said than the text asked for.", "$.text"
            )
        return session.judge()


def _calls(reply: Reply, session: ScriptSession) -> bool:
    return bool(reply.calls or reply.broken or judge_turn(reply, session.tools).calls)


NO_CALL_WANTED = NoCallProbe(
    "no_call_wanted",
    "Plain answer: does the model answer without calling a tool?",
    "Whether the model calls tools only on request.",
    ("{}",),
)
TAG_IN_TEXT = NoCallProbe(
    "tag_in_text",
    "Tag in text: does a sentence that mentions a tool-call tag arrive intact?",
    "Whether the engine mistakes text about calls for calls.",
    MENTIONS,
)
