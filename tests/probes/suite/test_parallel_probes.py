from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest

from probes.messages import Reply, ToolCall
from probes.outcomes import FindingKind
from probes.suite.base import DrawnValues
from probes.suite.parallel_probes import (
    PARALLEL_FIVE,
    PARALLEL_MIXED,
    PARALLEL_OFF,
    PARALLEL_SAME,
    PARALLEL_THREE,
    ParallelProbe,
)
from tests.probes.suite.script_player import (
    OPENAI,
    ScriptedAnswer,
    call,
    calls,
    play,
    prose,
    refusal,
)

ECHO = {"message": "hi 1", "tag": "beta"}
DRAWN = DrawnValues(
    {
        "calls": [["probe_echo", ECHO], ["probe_add", {"a": 1, "b": 2}]],
        "one": "amber-1",
        "other": "cedar-2",
    }
)
PARALLEL_FACTS = ("calls", "asked", "same_tool", "distinct_ids", "right")
FIRST = call("probe_echo", ECHO, "c1")
SECOND = call("probe_add", {"a": 1, "b": 2}, "c2")


def right_calls(values: DrawnValues) -> list[ToolCall]:
    expected = values.values["calls"]
    assert isinstance(expected, list)
    return [call(name, arguments, f"c{n}") for n, (name, arguments) in enumerate(expected)]


@pytest.mark.parametrize(
    ("probe", "count"),
    [(PARALLEL_MIXED, 2), (PARALLEL_SAME, 2), (PARALLEL_THREE, 3), (PARALLEL_FIVE, 5)],
    ids=lambda value: getattr(value, "name", None),
)
def test_all_calls_and_their_results_pass(probe: ParallelProbe, count: int) -> None:
    """All calls arrive in one turn and their results are returned, each under its id."""
    values = probe.draw(random.Random(1))

    played = play(probe, values, calls(*right_calls(values)), prose())

    assert played.outcome == "pass"
    assert {name: played.facts[name] for name in PARALLEL_FACTS} == {
        "calls": count,
        "asked": count,
        "same_tool": probe is PARALLEL_SAME,
        "distinct_ids": True,
        "right": True,
    }
    assert played.trials["parallel_downgrade"] == [True]
    assert played.trials["closure_error"] == [True]
    results = played.call("with the results").turns[-1].results
    assert [result.call_id for result in results] == [f"c{n}" for n in range(count)]
    nonces = [json.loads(result.content)["nonce"] for result in results]
    assert nonces[:2] == [values.values["one"], values.values["other"]]


@pytest.mark.parametrize("probe", [PARALLEL_THREE, PARALLEL_FIVE], ids=lambda probe: probe.name)
def test_fewer_calls_than_asked_for_are_a_downgrade(probe: ParallelProbe) -> None:
    """Two calls of three or five are too few, although they are several."""
    values = probe.draw(random.Random(2))

    played = play(probe, values, calls(*right_calls(values)[:2]), prose())

    assert (played.outcome, set(played.kinds)) == ("fail", {"no_call"})
    assert len(played.kinds) == probe.count - 2
    assert played.trials["parallel_downgrade"] == [False]
    assert (played.facts["calls"], played.facts["right"]) == (2, False)


def test_the_larger_questions_mix_the_tools() -> None:
    """Neighbouring calls are of different tools, with values of their own."""
    values = PARALLEL_FIVE.draw(random.Random(3))

    names = [model_call.name for model_call in right_calls(values)]
    assert names == ["probe_echo", "probe_add", "probe_echo", "probe_add", "probe_echo"]
    assert len({str(model_call.input) for model_call in right_calls(values)}) == 5


@pytest.mark.parametrize(
    ("change", "distinct_ids", "right"),
    [
        ({"id": "c0"}, False, False),
        ({"name": "probe_sum"}, True, False),
        ({"input": {"a": 1, "b": 1}}, True, True),
    ],
)
def test_ids_and_tools_must_be_right_and_values_need_not(
    change: dict[str, Any], distinct_ids: bool, right: bool
) -> None:
    """Other values are another metric's matter; the probe fails for each."""
    values = PARALLEL_THREE.draw(random.Random(4))
    first, second, third = right_calls(values)

    played = play(PARALLEL_THREE, values, calls(first, replace(second, **change), third), prose())

    assert (played.facts["distinct_ids"], played.facts["right"]) == (distinct_ids, right)
    assert played.outcome == "fail"


def test_the_probes_ask_for_the_same_tool_and_for_different_ones() -> None:
    """The drawn tools match the probe's name."""
    same = PARALLEL_SAME.draw(random.Random(2)).values["calls"]
    mixed = PARALLEL_MIXED.draw(random.Random(2)).values["calls"]
    assert isinstance(same, list)
    assert isinstance(mixed, list)

    assert [name for name, _ in same] == ["probe_add", "probe_add"]
    assert [name for name, _ in mixed] == ["probe_echo", "probe_add"]


@pytest.mark.parametrize(
    ("model_calls", "kinds", "together", "count"),
    [
        ([FIRST], ["no_call"], [False], 1),
        ([SECOND], ["no_call"], [False], 1),
        ([FIRST, replace(SECOND, id="c1")], ["id_reused"], [True], 2),
        ([FIRST, call("probe_add", {"a": 9, "b": 2}, "c2")], ["wrong_value"], [True], 2),
        ([FIRST, SECOND, call("probe_add", {"a": 1, "b": 2}, "c3")], ["extra_call"], [True], 3),
        ([FIRST, call("probe_add", {"a": "1", "b": 2}, "c2")], ["schema_mismatch"], [True], 2),
    ],
)
def test_fewer_calls_one_id_or_other_values_fail(
    model_calls: list[ToolCall], kinds: list[str], together: list[bool], count: int
) -> None:
    """Only fewer calls are a downgrade; the others have their own findings."""
    played = play(PARALLEL_MIXED, DRAWN, calls(*model_calls), prose())

    assert (played.outcome, played.kinds) == ("fail", kinds)
    assert played.trials["parallel_downgrade"] == together
    assert played.facts["calls"] == count


def test_without_any_call_there_is_no_trial_of_parallel_calls() -> None:
    """Prose is a failed parse, not a downgrade, and the capability stays unknown."""
    played = play(PARALLEL_MIXED, DRAWN, prose())

    assert played.kinds == ["no_call"]
    assert "parallel_downgrade" not in played.trials
    assert "calls" not in played.facts


@pytest.mark.parametrize(
    ("reply", "outcome", "closed"),
    [
        (refusal(FindingKind.CLOSURE_MISSING), "fail", [False]),
        (refusal(FindingKind.PROVIDER_ERROR), "void", None),
    ],
)
def test_refused_results_fail_where_the_pairing_is_blamed(
    reply: ScriptedAnswer, outcome: str, closed: list[bool] | None
) -> None:
    """The calls are counted whatever happens to their results."""
    played = play(PARALLEL_MIXED, DRAWN, calls(FIRST, SECOND), reply)

    assert played.outcome == outcome
    assert played.trials.get("closure_error") == closed
    assert played.trials["parallel_downgrade"] == [True]
    assert played.facts["calls"] == 2


@pytest.mark.parametrize(
    ("reply", "outcome", "kinds", "off"),
    [
        (calls(FIRST), "pass", [], "obeyed"),
        (calls(FIRST, SECOND), "fail", ["extra_call"], "ignored"),
        (prose(), "fail", ["no_call"], None),
    ],
)
def test_the_switch_is_obeyed_or_ignored(
    reply: Reply, outcome: str, kinds: list[str], off: str | None
) -> None:
    """One call at a time passes; without a call the switch is not tested."""
    played = play(PARALLEL_OFF, DRAWN, reply)

    assert (played.outcome, played.kinds) == (outcome, kinds)
    assert played.facts.get("off") == off
    assert played.call("asked").parallel is False
    assert "parallel_downgrade" not in played.trials


def test_a_dialect_without_the_switch_is_not_blamed_for_two_calls() -> None:
    """A switch that was not sent cannot be ignored."""
    bare = replace(OPENAI, dialect=replace(OPENAI.dialect, parallel_switch=False))

    played = play(PARALLEL_OFF, DRAWN, calls(FIRST, SECOND), builder=bare)

    assert (played.outcome, played.facts["off"]) == ("pass", "no switch")
    assert played.call("asked").parallel is None


@pytest.mark.parametrize(
    ("message", "outcome"),
    [("Unknown parameter: parallel_tool_calls", "fail"), ("Your account is inactive", "void")],
)
def test_a_refused_switch_is_told(message: str, outcome: str) -> None:
    """A refusal of the switch counts; another refusal proves nothing."""
    kind = FindingKind.PARAM_UNKNOWN if outcome == "fail" else FindingKind.PROVIDER_ERROR

    played = play(PARALLEL_OFF, DRAWN, refusal(kind, message))

    assert (played.outcome, played.facts["off"]) == (outcome, "refused")


@pytest.mark.parametrize(
    ("model_calls", "distinct", "right"),
    [
        ([FIRST, SECOND], True, True),
        ([SECOND, FIRST], True, True),
        ([FIRST], True, False),
        ([FIRST, replace(SECOND, id="c1")], False, False),
        ([FIRST, replace(FIRST, id="c2")], True, False),
        ([FIRST, call("probe_sum", {"a": 1, "b": 2}, "c2")], True, False),
        ([FIRST, call("probe_add", {"a": 9, "b": 2}, "c2")], True, True),
    ],
)
def test_a_turn_is_right_with_every_call_under_its_own_id(
    model_calls: list[ToolCall], distinct: bool, right: bool
) -> None:
    """Other values are another question; a missing call, another tool or a shared id is not."""
    facts = play(PARALLEL_MIXED, DRAWN, calls(*model_calls), prose()).facts

    assert (facts["calls"], facts["asked"]) == (len(model_calls), 2)
    assert (facts["same_tool"], facts["distinct_ids"], facts["right"]) == (False, distinct, right)
