from __future__ import annotations

import random
from dataclasses import dataclass

from probes.outcomes import Metric
from probes.suite.base import DrawnValues, Judgement, Script
from probes.suite.probe_tools import PROBE_ECHO, TAGS
from probes.suite.question_builder import QuestionBuilder
from probes.suite.random_words import draw_nonce, draw_phrase
from probes.suite.script_steps import ScriptSession, add_call_results, start_conversation

PROMPT = """\
Call the tool {tool} once, with these arguments:
message: {message}
tag: {tag}
Its result holds a nonce. When you have it, reply with it exactly as it is, without a tool."""


@dataclass(frozen=True, slots=True)
class RoundTripProbe:
    """Asks for a call, returns its result, and looks for the result in the answer."""

    name: str = "round_trip"
    question: str = "Round trip: is a tool result accepted and used in the answer?"
    settles: str = "Whether results reach the model under the id of their call."
    passes: str = "The history is accepted, and the answer has a word that is only in the result."
    fails: str = "The history is rejected, or the answer does not use the result."
    requests: int = 3
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
        results = [({"ok": True, "nonce": drawn.values["nonce"]}, False)] * len(turn.calls)
        add_call_results(conversation, turn, results)
        answer = yield from session.ask(conversation, "with the result")
        if answer.reply is None:
            return session.judge_refusal(answer)
        session.note_deviations(answer.reply)
        session.check_result_use(turn, answer.reply, [str(drawn.values["nonce"])])
        return session.judge()


ROUND_TRIP = RoundTripProbe()
