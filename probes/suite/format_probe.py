from __future__ import annotations

import random
from dataclasses import dataclass

from probes.outcomes import Metric
from probes.suite.base import DrawnValues, Script
from probes.suite.probe_tools import PROBE_ECHO, TAGS
from probes.suite.question_builder import QuestionBuilder
from probes.suite.random_words import WORDS, draw_phrase
from probes.suite.script_steps import ScriptSession, start_conversation

TWISTS = ('"{}"', "naïve {}", "{}'s", "{} → end", "{}/{}", "{} ☕")

PROMPT = """\
Call the tool {tool} exactly once, with these arguments:
message: {message}
tag: {tag}
Copy the message character for character. Do not answer in text."""


@dataclass(frozen=True, slots=True)
class FormatProbe:
    """Asks in plain words for one call of `probe_echo` with drawn values."""

    name: str = "format"
    question: str = "Single call: does the model make the requested tool call?"
    settles: str = "The format in which calls arrive, and how often they can be parsed."
    passes: str = "Exactly one structured call arrives, with the requested values."
    fails: str = "Prose, a leaked call, unreadable arguments, wrong values or a second call."
    requests: int = 1
    refusal_metrics: tuple[Metric, ...] = (Metric.PARSE_SUCCESS,)

    def draw(self, rng: random.Random) -> DrawnValues:
        message = draw_phrase(rng)
        if rng.random() < 0.5:
            message += " " + rng.choice(TWISTS).format(*rng.sample(WORDS, 2))
        return DrawnValues({"message": message, "tag": rng.choice(TAGS)})

    def script(self, drawn: DrawnValues, builder: QuestionBuilder) -> Script:
        session = ScriptSession(builder, (PROBE_ECHO,))
        prompt = PROMPT.format(tool=PROBE_ECHO.name, **drawn.values)
        answer = yield from session.ask(start_conversation(prompt))
        if answer.reply is None:
            return session.judge_refusal(answer, self.refusal_metrics)
        turn = session.judge_turn(answer.reply)
        session.check_values(turn, [(PROBE_ECHO.name, drawn.values)])
        return session.judge()


FORMAT = FormatProbe()
