from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

from probes.messages import Reply, ToolCall
from probes.outcomes import FindingKind
from probes.suite.base import DrawnValues
from probes.suite.parallel_probes import PARALLEL_MIXED, PARALLEL_OFF, PARALLEL_SAME, ParallelProbe
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
FIRST = call("probe_echo", ECHO, "c1")
SECOND = call("probe_add", {"a": 1, "b": 2}, "c2")


@pytest.mark.parametrize("probe", [PARALLEL_MIXED, PARALLEL_SAME], ids=lambda probe: probe.name)
def test_two_calls_and_both_results_pass(probe: ParallelProbe) -> None:
    """Both calls arrive in one turn and both results are returned, each under its id."""
    values = probe.draw(random.Random(1))
    expected = values.values["calls"]
    assert isinstance(expected, list)
    model_calls = [call(name, arguments, f"c{n}") for n, (name, arguments) in enumerate(expected)]

    played = play(probe, values, calls(*model_calls), prose())

    assert (played.outcome, played.facts["calls"]) == ("pass", 2)
    assert played.trials["parallel_downgrade"] == [True]
    assert played.trials["closure_error"] == [True]
    results = played.call("with the results").turns[-1].results
    assert [result.call_id for result in results] == ["c0", "c1"]
    nonces = [json.loads(result.content)["nonce"] for result in results]
    assert nonces == [values.values["one"], values.values["other"]]


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
