from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from probes.messages import JSON
from probes.outcomes import Metric
from probes.suite.base import DrawnValues, Judgement, Script
from probes.suite.probe_tools import PROBE_LOCATE, PROBE_OPEN, PROBE_READ
from probes.suite.question_builder import QuestionBuilder
from probes.suite.random_words import draw_nonce, draw_phrase
from probes.suite.script_steps import ScriptSession, add_call_results, start_conversation
from probes.suite.turn_judge import JudgedTurn

PROMPT = """\
Find out a code, one tool call after another:
1. Call probe_locate with item: {item}
2. Then call probe_open with shelf: the name that the first result gave
3. Then call probe_read with box: the name that the second result gave
Wait for each result before the next call.
The last result holds a code: reply with that code, exactly as it is, without a further tool."""
# Each tool with its argument and with what its result tells.
STEPS = (
    (PROBE_LOCATE.name, "item", "shelf"),
    (PROBE_OPEN.name, "shelf", "box"),
    (PROBE_READ.name, "box", "code"),
)


@dataclass(frozen=True, slots=True)
class ChainProbe:
    """Asks for three calls, each with a value that only the result before it tells."""

    name: str = "chain"
    question: str = "Call chain: does each call use the result of the one before?"
    settles: str = "Whether the model can work in several steps."
    passes: str = "Three calls arrive one by one, and the answer has the code of the last result."
    fails: str = "A call is missing, comes early or does not use the result before it."
    # Every step after the first may take two requests if the endpoint requires its reasoning back.
    requests: int = 1 + 2 * len(STEPS)
    refusal_metrics: tuple[Metric, ...] = (Metric.PARSE_SUCCESS,)

    def draw(self, rng: random.Random) -> DrawnValues:
        nonces = {name: draw_nonce(rng) for name in ("shelf", "box", "code")}
        return DrawnValues({"item": draw_phrase(rng), **nonces})

    def script(self, drawn: DrawnValues, builder: QuestionBuilder) -> Script:
        session = ScriptSession(builder, (PROBE_LOCATE, PROBE_OPEN, PROBE_READ))
        conversation = start_conversation(PROMPT.format(item=drawn.values["item"]))
        turn = yield from session.ask_for_calls(conversation, self.refusal_metrics)
        if isinstance(turn, Judgement):
            return turn
        session.check_values(turn, [_expected(0, drawn)])
        for step, (_, _, told) in enumerate(STEPS):
            result: Mapping[str, JSON] = {"ok": True, told: drawn.values[told]}
            add_call_results(conversation, turn, [(result, False)] * len(turn.calls))
            answer = yield from session.ask(conversation, f"with result {step + 1}")
            if answer.reply is None:
                return session.judge_refusal(answer)
            if step + 1 == len(STEPS):
                session.note_deviations(answer.reply)
                session.check_result_use(turn, answer.reply, [str(drawn.values[told])])
                break
            turn = session.judge_turn(answer.reply)
            if not _judge_step(session, turn, step + 1, drawn):
                break
        return session.judge()


def _expected(step: int, drawn: DrawnValues) -> tuple[str, Mapping[str, JSON]]:
    tool, argument, _ = STEPS[step]
    return tool, {argument: drawn.values[argument]}


def _judge_step(session: ScriptSession, turn: JudgedTurn, step: int, drawn: DrawnValues) -> bool:
    """Judge a call that must use the result before it; whether the chain can go on."""
    tool, expected = _expected(step, drawn)
    is_called = any(call.name == tool for call in turn.calls)
    used = any(call.name == tool and call.input == expected for call in turn.calls)
    if is_called and not turn.unfit:
        message = f"The {STEPS[step][1]} that only the result tells is not used."
        session.record_result_use(message, "$", used=used)
    if used or not is_called:
        session.check_values(turn, [(tool, expected)], counts=False)
    return used


CHAIN = ChainProbe()
