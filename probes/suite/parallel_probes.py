"""Several calls in one turn: whether they are made, have different ids, and can be turned off."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from probes.messages import JSON
from probes.outcomes import FindingKind, Metric, Verdict
from probes.suite.base import DrawnValues, Judgement, Script
from probes.suite.probe_tools import PROBE_ADD, PROBE_ECHO, TAGS
from probes.suite.question_builder import QuestionBuilder
from probes.suite.random_words import draw_nonce, draw_phrase
from probes.suite.script_steps import ScriptSession, add_call_results, start_conversation
from probes.suite.turn_judge import find_wrong_values

PROMPT = """\
Make these two tool calls at the same time, both in one turn, without waiting in between:
1. {first} with {first_arguments}
2. {second} with {second_arguments}"""


@dataclass(frozen=True, slots=True)
class ParallelProbe:
    """Asks for two calls in one turn, and returns both results."""

    name: str
    question: str
    same_tool: bool
    settles: str = "Whether several calls may be asked for at once."
    passes: str = "Both calls arrive in one turn under different ids, and both results are taken."
    fails: str = "Fewer calls, one id for both, other values, or a history that is refused."
    requests: int = 3
    refusal_metrics: tuple[Metric, ...] = (Metric.PARSE_SUCCESS,)

    def draw(self, rng: random.Random) -> DrawnValues:
        return _draw_calls(rng, same_tool=self.same_tool)

    def script(self, drawn: DrawnValues, builder: QuestionBuilder) -> Script:
        session = ScriptSession(builder, (PROBE_ECHO, PROBE_ADD))
        expected = _expected_calls(drawn)
        conversation = start_conversation(_prompt(expected))
        turn = yield from session.ask_for_calls(conversation, self.refusal_metrics)
        if isinstance(turn, Judgement):
            return turn
        is_parallel = len(turn.calls) > 1
        session.verdicts.append(Verdict(Metric.PARALLEL_DOWNGRADE, is_parallel))
        session.facts["calls"] = len(turn.calls)
        if not turn.unfit or not is_parallel:
            session.findings += find_wrong_values(turn.calls, expected)
        ids = [call.id for call in turn.reply.calls]
        if len(set(ids)) < len(ids):
            message = "Several calls of one turn came under the same id."
            session.add_finding(FindingKind.ID_REUSED, message, "$.calls")
        tokens = [str(token) for token in (drawn.values["one"], drawn.values["other"])]
        bodies: list[tuple[Mapping[str, JSON], bool]] = [
            ({"ok": True, "nonce": tokens[index % 2]}, False) for index in range(len(turn.calls))
        ]
        add_call_results(conversation, turn, bodies)
        answer = yield from session.ask(conversation, "with the results")
        if answer.reply is None:
            return session.judge_refusal(answer)
        return session.judge()


@dataclass(frozen=True, slots=True)
class ParallelOffProbe:
    """Asks for two calls and forbids more than one per turn."""

    name: str = "parallel_off"
    question: str = "Where parallel calls are switched off, does one call arrive at a time?"
    settles: str = "Whether the switch for parallel calls is obeyed."
    passes: str = "One call arrives, or the format has no such switch."
    fails: str = "Several calls arrive although the switch forbids them, or it is refused."
    requests: int = 1
    refusal_metrics: tuple[Metric, ...] = ()

    def draw(self, rng: random.Random) -> DrawnValues:
        return _draw_calls(rng, same_tool=False)

    def script(self, drawn: DrawnValues, builder: QuestionBuilder) -> Script:
        session = ScriptSession(builder, (PROBE_ECHO, PROBE_ADD))
        conversation = start_conversation(_prompt(_expected_calls(drawn)))
        has_switch = builder.call(conversation, session.tools, parallel=False).parallel is False
        answer = yield from session.ask(conversation, parallel=False)
        if answer.reply is None:
            session.facts["off"] = "refused"
            return session.judge_refusal(answer)
        turn = session.judge_turn(answer.reply)
        if not has_switch:
            session.facts["off"] = "no switch"
        elif turn.calls:
            session.facts["off"] = "obeyed" if len(turn.calls) == 1 else "ignored"
        if has_switch and len(turn.calls) > 1:
            message = f"{len(turn.calls)} calls came in one turn although only one was allowed."
            session.add_finding(FindingKind.EXTRA_CALL, message, "$.calls")
        return session.judge()


def _draw_calls(rng: random.Random, *, same_tool: bool) -> DrawnValues:
    def add() -> dict[str, JSON]:
        return {"a": rng.randrange(2, 1000), "b": rng.randrange(2, 1000)}

    echo: dict[str, JSON] = {"message": draw_phrase(rng), "tag": rng.choice(TAGS)}
    first: JSON = [PROBE_ADD.name, add()] if same_tool else [PROBE_ECHO.name, echo]
    tokens = {"one": draw_nonce(rng), "other": draw_nonce(rng)}
    return DrawnValues({"calls": [first, [PROBE_ADD.name, add()]], **tokens})


def _expected_calls(drawn: DrawnValues) -> list[tuple[str, Mapping[str, JSON]]]:
    calls = drawn.values["calls"]
    assert isinstance(calls, list)
    return [(str(name), arguments) for name, arguments in calls]


def _prompt(expected: Sequence[tuple[str, Mapping[str, JSON]]]) -> str:
    (first, one), (second, other) = expected
    return PROMPT.format(
        first=first,
        first_arguments=json.dumps(one, ensure_ascii=False),
        second=second,
        second_arguments=json.dumps(other, ensure_ascii=False),
    )


PARALLEL_MIXED = ParallelProbe(
    "parallel_mixed", "Are two calls of different tools made in one turn?", same_tool=False
)
PARALLEL_SAME = ParallelProbe(
    "parallel_same", "Are two calls of the same tool made in one turn?", same_tool=True
)
PARALLEL_OFF = ParallelOffProbe()
