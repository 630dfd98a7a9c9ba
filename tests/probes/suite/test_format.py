from __future__ import annotations

import random
from typing import Any

import pytest

from probes.attempts import FindingKind, Metric, Outcome
from probes.messages import (
    JSON,
    Breakage,
    BrokenCall,
    Deviation,
    Part,
    Reasoning,
    ReasoningKind,
    Reply,
    Stop,
    Text,
    ToolCall,
)
from probes.suite import PROBES, SUITES, Trial, plan
from probes.suite.base import Drawn, Judged, rng_for
from probes.suite.format import FORMAT

DRAWN = Drawn({"message": 'amber 4711 "fjord"', "tag": "beta"})
GOOD: dict[str, JSON] = dict(DRAWN.values)


def call(arguments: dict[str, JSON], name: str = "probe_echo") -> ToolCall:
    return ToolCall("c1", name, arguments, "openai", "")


def judge(*parts: Part, **over: Any) -> Judged:
    return FORMAT.judge(DRAWN, Reply(parts, over.pop("stop", Stop.TOOL_CALLS), **over))


def verdicts(judged: Judged) -> dict[str, bool]:
    return {str(verdict.metric): verdict.good for verdict in judged.verdicts}


def test_the_call_asked_for_passes() -> None:
    """One structured call with the drawn values is what the probe wants."""
    judged = judge(call(GOOD))

    assert judged.outcome is Outcome.PASS
    assert judged.findings == ()
    assert verdicts(judged) == {
        "parse_success": True,
        "leak": True,
        "reasoning_only": True,
        "schema_failure": True,
    }


@pytest.mark.parametrize(
    ("parts", "kind"),
    [
        ((Text("I would call the tool."),), FindingKind.NO_CALL),
        ((), FindingKind.NO_CALL),
        ((Reasoning("Hm.", ReasoningKind.FIELD, "reasoning"),), FindingKind.REASONING_ONLY),
        ((Text('<tool_call>\n{"name": "probe_echo"}'),), FindingKind.LEAKED_CALL),
        (
            (Reasoning("<invoke name=probe_echo>", ReasoningKind.FIELD, "reasoning"),),
            FindingKind.LEAKED_CALL,
        ),
        ((BrokenCall("{", "bad"),), FindingKind.INVALID_JSON),
        ((BrokenCall("{", "cut", Breakage.TRUNCATED_CALL),), FindingKind.TRUNCATED_CALL),
    ],
)
def test_a_turn_without_a_readable_call_fails_to_parse(
    parts: tuple[Part, ...], kind: FindingKind
) -> None:
    """Prose, leaks, reasoning alone and unreadable calls each say what they are."""
    judged = judge(*parts, stop=Stop.END)

    assert judged.outcome is Outcome.FAIL
    assert [finding.kind for finding in judged.findings] == [kind]
    assert verdicts(judged)["parse_success"] is False
    assert "schema_failure" not in verdicts(judged)


@pytest.mark.parametrize(
    ("made", "kind", "schema_good"),
    [
        (call({**GOOD, "tag": "gamma"}), FindingKind.SCHEMA_MISMATCH, False),
        (call({"tag": "beta"}), FindingKind.SCHEMA_MISMATCH, False),
        (call({**GOOD, "extra": 1}), FindingKind.SCHEMA_MISMATCH, False),
        (call(GOOD, "echo"), FindingKind.UNKNOWN_TOOL, False),
        (call({**GOOD, "message": "amber 4711"}), FindingKind.WRONG_VALUE, True),
        (call({**GOOD, "tag": "alpha"}), FindingKind.WRONG_VALUE, True),
    ],
)
def test_a_wrong_call_parses_and_fails(
    made: ToolCall, kind: FindingKind, schema_good: bool
) -> None:
    """A call that came through is judged by its content, not as a parse failure."""
    judged = judge(made)

    assert judged.outcome is Outcome.FAIL
    assert [finding.kind for finding in judged.findings] == [kind]
    assert verdicts(judged)["parse_success"] is True
    assert verdicts(judged)["schema_failure"] is schema_good


def test_a_second_call_is_one_too_many() -> None:
    """One call was asked for; each that came is a trial of the schema."""
    judged = judge(call(GOOD), call({**GOOD, "tag": "x"}))

    assert [finding.kind for finding in judged.findings] == [
        FindingKind.EXTRA_CALL,
        FindingKind.SCHEMA_MISMATCH,
    ]
    trials = [v.good for v in judged.verdicts if v.metric is Metric.SCHEMA_FAILURE]
    assert trials == [True, False]


def test_a_deviation_is_noted_and_does_not_fail() -> None:
    """A bent format that could be read is a finding, not a failure."""
    judged = judge(call(GOOD), deviations=(Deviation("missing_id", "$.x"),))

    assert judged.outcome is Outcome.PASS
    assert [(f.kind, f.path) for f in judged.findings] == [(FindingKind.DEVIATION, "$.x")]


def test_a_trial_can_be_repeated_alone() -> None:
    """The values depend on seed, probe and trial, and on nothing else."""
    drawn = [FORMAT.draw(rng_for("seed", "format", trial)) for trial in (1, 2, 3)]

    assert FORMAT.draw(rng_for("seed", "format", 2)) == drawn[1]
    assert len({str(item.values["message"]) for item in drawn}) == 3


def test_the_question_carries_the_drawn_values() -> None:
    """Each drawn value stands on the line of its name, whatever is in it."""
    for seed in range(200):
        drawn = FORMAT.draw(random.Random(seed))
        turn = FORMAT.call(drawn, "m").turns[0]

        assert isinstance(turn.parts[0], Text)
        lines = turn.parts[0].text.splitlines()
        assert f"message: {drawn.values['message']}" in lines
        assert f"tag: {drawn.values['tag']}" in lines


def test_drawn_messages_carry_quotes_and_foreign_letters_now_and_then() -> None:
    """Strings that break sloppy encoders are part of the question."""
    messages = [str(FORMAT.draw(random.Random(seed)).values["message"]) for seed in range(200)]

    assert any('"' in message for message in messages)
    assert any(not message.isascii() for message in messages)
    assert any(message.isascii() and '"' not in message for message in messages)


def test_suites_plan_known_probes_in_order() -> None:
    """A plan is the table multiplied out, and every name in it exists."""
    assert plan("light") == tuple(Trial("format", trial) for trial in (1, 2, 3, 4, 5))
    assert len(plan("full")) == 10
    assert {name for rows in SUITES.values() for name, _ in rows} <= set(PROBES)
    assert all(probe.name == name and probe.question for name, probe in PROBES.items())
