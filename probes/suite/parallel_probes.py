"""Several calls in one turn: whether they are made, have different ids, and can be turned off."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from probes.messages import JSON
from probes.outcomes import FindingKind, Metric, Verdict
from probes.suite.base import DrawnValues, Judgement, Script
from probes.suite.probe_tools import PROBE_ADD, PROBE_ECHO, TAGS
from probes.suite.question_builder import QuestionBuilder
from probes.suite.random_words import draw_fragile_text, draw_nonce
from probes.suite.script_steps import ScriptSession, add_call_results, start_conversation
from probes.suite.turn_judge import JudgedTurn, find_wrong_values

PROMPT = """\
Make these {count} tool calls at the same time, {all} in one turn, without waiting in between:
{calls}"""
NUMBERS = {2: ("two", "both"), 3: ("three", "all"), 5: ("five", "all")}


@dataclass(frozen=True, slots=True)
class ParallelProbe:
    """Asks for several calls in one turn, and returns their results."""

    name: str
    question: str
    same_tool: bool
    count: int = 2
    settles: str = "Whether the endpoint can make several calls in one turn."
    passes: str = "All calls arrive in one turn with distinct ids, and their results are accepted."
    fails: str = "Calls are missing, share an id or have wrong values, or the results are rejected."
    requests: int = 3
    refusal_metrics: tuple[Metric, ...] = (Metric.PARSE_SUCCESS,)

    def draw(self, rng: random.Random) -> DrawnValues:
        return _draw_calls(rng, same_tool=self.same_tool, count=self.count)

    def script(self, drawn: DrawnValues, builder: QuestionBuilder) -> Script:
        session = ScriptSession(builder, (PROBE_ECHO, PROBE_ADD))
        expected = _expected_calls(drawn)
        conversation = start_conversation(_prompt(expected))
        turn = yield from session.ask_for_calls(conversation, self.refusal_metrics)
        if isinstance(turn, Judgement):
            return turn
        is_complete = len(turn.calls) >= self.count
        session.verdicts.append(Verdict(Metric.PARALLEL_DOWNGRADE, is_complete))
        session.facts |= parallel_facts(turn, expected)
        session.check_values(turn, expected)
        if turn.unfit and not is_complete:
            session.findings += find_wrong_values(turn.calls, expected)
        if not session.facts["distinct_ids"]:
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
    question: str = "Parallel calls off: does only one call arrive per turn?"
    settles: str = "Whether the switch for parallel calls works."
    passes: str = "One call arrives, or the format has no switch."
    fails: str = "Several calls arrive despite the switch, or the switch is rejected."
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


def parallel_facts(
    turn: JudgedTurn, expected: Sequence[tuple[str, Mapping[str, JSON]]]
) -> dict[str, JSON]:
    """What a turn shows that was asked for several calls.

    It is right if every call arrived, of the right tool and under an id of its own, whatever its
    arguments are.
    """
    wanted = Counter(name for name, _ in expected)
    arrived, ids = Counter(call.name for call in turn.calls), [call.id for call in turn.calls]
    is_distinct = len(set(ids)) == len(ids)
    return {
        "calls": len(turn.calls),
        "asked": len(expected),
        "same_tool": len(wanted) == 1,
        "distinct_ids": is_distinct,
        "right": wanted <= arrived and is_distinct,
    }


def _draw_calls(rng: random.Random, *, same_tool: bool, count: int = 2) -> DrawnValues:
    def add() -> JSON:
        return [PROBE_ADD.name, {"a": rng.randrange(2, 1000), "b": rng.randrange(2, 1000)}]

    def echo() -> JSON:
        return [PROBE_ECHO.name, {"message": draw_fragile_text(rng), "tag": rng.choice(TAGS)}]

    drawn_echo = echo()
    calls = [add() if same_tool else drawn_echo]
    tokens = {"one": draw_nonce(rng), "other": draw_nonce(rng)}
    calls += [add() if same_tool or index % 2 else echo() for index in range(1, count)]
    return DrawnValues({"calls": calls, **tokens})


def _expected_calls(drawn: DrawnValues) -> list[tuple[str, Mapping[str, JSON]]]:
    calls = drawn.values["calls"]
    assert isinstance(calls, list)
    return [(str(name), arguments) for name, arguments in calls]


def _prompt(expected: Sequence[tuple[str, Mapping[str, JSON]]]) -> str:
    count, all_ = NUMBERS[len(expected)]
    lines = (
        f"{number}. {name} with {json.dumps(arguments, ensure_ascii=False)}"
        for number, (name, arguments) in enumerate(expected, 1)
    )
    return PROMPT.format(count=count, all=all_, calls="\n".join(lines))


PARALLEL_MIXED = ParallelProbe(
    "parallel_mixed", "Parallel calls: do calls of two tools arrive in one turn?", same_tool=False
)
PARALLEL_SAME = ParallelProbe(
    "parallel_same", "Parallel calls: do two calls of one tool arrive in one turn?", same_tool=True
)
PARALLEL_THREE = ParallelProbe(
    "parallel_three",
    "Three parallel calls: do all three arrive in one turn?",
    same_tool=False,
    count=3,
)
PARALLEL_FIVE = ParallelProbe(
    "parallel_five",
    "Five parallel calls: do all five arrive in one turn?",
    same_tool=False,
    count=5,
)
PARALLEL_OFF = ParallelOffProbe()
