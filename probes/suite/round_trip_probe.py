from __future__ import annotations

import random
from dataclasses import dataclass

from probes.outcomes import FindingKind, Metric
from probes.suite.base import DrawnValues, Judgement, Script
from probes.suite.probe_tools import PROBE_ECHO, TAGS
from probes.suite.question_builder import QuestionBuilder
from probes.suite.random_words import draw_nonce, draw_phrase
from probes.suite.script_steps import ScriptSession, add_call_results, start_conversation
from probes.suite.turn_judge import find_wrong_values

PROMPT = """\
Call the tool {tool} once, with these arguments:
message: {message}
tag: {tag}
Its result holds a nonce. When you have it, reply with the nonce, in words and without a tool."""


@dataclass(frozen=True, slots=True)
class RoundTripProbe:
    """Asks for a call, returns its result, and looks for the result in the answer."""

    name: str = "round_trip"
    question: str = "Is the result of a call taken, and used in the answer?"
    settles: str = "Whether results reach the model under the id of their call."
    passes: str = "The history is taken, and the answer holds the word that only the result told."
    fails: str = "The history is refused, or the answer does not use the result."
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
        if not turn.unfit:
            session.findings += find_wrong_values(turn.calls, [(PROBE_ECHO.name, expected)])
        results = [({"ok": True, "nonce": drawn.values["nonce"]}, False)] * len(turn.calls)
        add_call_results(conversation, turn, results)
        answer = yield from session.ask(conversation, "with the result")
        if answer.reply is None:
            return session.judge_refusal(answer)
        session.note_deviations(answer.reply)
        if str(drawn.values["nonce"]) not in (answer.reply.text or ""):
            message = "The answer does not hold the nonce that only the result told."
            session.add_finding(FindingKind.RESULT_UNUSED, message, "$.text")
        return session.judge()


ROUND_TRIP = RoundTripProbe()
