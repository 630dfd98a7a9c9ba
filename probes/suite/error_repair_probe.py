from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from probes.messages import JSON, ToolCall
from probes.outcomes import FindingKind, Metric, Verdict
from probes.suite.base import DrawnValues, Judgement, Script
from probes.suite.probe_tools import PROBE_FAIL_ONCE, SAFE
from probes.suite.question_builder import QuestionBuilder
from probes.suite.random_words import WORDS
from probes.suite.script_steps import ScriptSession, add_call_results, start_conversation

MAX_TRIES = 2
PROMPT = """\
Call the tool {tool} with this argument:
path: {path}
If the tool answers with an error, correct the argument as the error says and call it again."""


@dataclass(frozen=True, slots=True)
class ErrorRepairProbe:
    """Returns an error that says what is wrong, and expects the corrected call."""

    name: str = "error_repair"
    question: str = "Error repair: does the model fix a rejected call?"
    settles: str = "Whether errors can be fed back, and how many tries a fix takes."
    passes: str = "The next call follows the error message."
    fails: str = "The same call again, another wrong call, or none."
    # Each try may take two requests if the endpoint requires its reasoning back.
    requests: int = 1 + 2 * MAX_TRIES
    refusal_metrics: tuple[Metric, ...] = (Metric.PARSE_SUCCESS,)

    def draw(self, rng: random.Random) -> DrawnValues:
        path = "/".join(rng.sample(WORDS, 2))
        return DrawnValues({"path": f"/data/{path}-{rng.randrange(100, 1000)}.txt"})

    def script(self, drawn: DrawnValues, builder: QuestionBuilder) -> Script:
        session = ScriptSession(builder, (PROBE_FAIL_ONCE,))
        conversation = start_conversation(PROMPT.format(tool=PROBE_FAIL_ONCE.name, **drawn.values))
        turn = yield from session.ask_for_calls(conversation, self.refusal_metrics)
        if isinstance(turn, Judgement):
            return turn
        if _is_right(turn.calls):
            # Nothing to correct: the model chose another path, which proves nothing here.
            session.add_finding(
                FindingKind.WRONG_VALUE, "The path was not the one asked for.", "$.calls"
            )
            return session.judge()
        for tries in range(1, MAX_TRIES + 1):
            add_call_results(conversation, turn, [(ERROR, True)] * len(turn.calls))
            answer = yield from session.ask(conversation, f"after error {tries}")
            if answer.reply is None:
                return session.judge_refusal(answer)
            turn = session.judge_turn(answer.reply, may_stop=True)
            corrected = _is_right(turn.calls) and not turn.unfit
            if tries == 1:
                session.verdicts.append(Verdict(Metric.REPAIR_SUCCESS, corrected))
            if corrected or not turn.calls:
                break
        session.facts["tries"] = tries if corrected else None
        if not corrected or tries > 1:
            message = "The error was not followed in the next call."
            session.add_finding(FindingKind.NOT_REPAIRED, message, "$.calls")
        return session.judge()


ERROR: Mapping[str, JSON] = {
    "is_error": True,
    "error_code": "bad_path",
    "message": f"path must start with {SAFE}",
    "path": "$.path",
    "retryable": True,
}


def _is_right(calls: Sequence[ToolCall]) -> bool:
    return bool(calls) and all(str(call.input.get("path", "")).startswith(SAFE) for call in calls)


ERROR_REPAIR = ErrorRepairProbe()
