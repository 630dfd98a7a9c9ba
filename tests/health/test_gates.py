"""Gate conditions: each can be met, not met, inconclusive, or without data."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health import translation
from health.client_view import view_as_client
from health.detector import LIVE, PROBE, Baseline, BaselineState
from health.gates import (
    DEFAULTS,
    PROMOTION_STAGES,
    ConditionState,
    Gate,
    GateCondition,
    GateFacts,
    Gates,
    TrialCounts,
    evaluate_gates,
    find_gate_errors,
    gates_from_json,
)
from health.rate_bounds import reference_rate, success_bounds, trials_to_settle
from probes.outcomes import Metric

PARSE, SCHEMA = Metric.PARSE_SUCCESS, Metric.SCHEMA_FAILURE
MET, NOT_MET, OPEN, NO_DATA = (
    ConditionState.MET,
    ConditionState.NOT_MET,
    ConditionState.INCONCLUSIVE,
    ConditionState.NO_DATA,
)
GATE = Gate(
    runs=2,
    full_runs=1,
    trials=50,
    rates={PARSE: 0.9},
    baseline=BaselineState.FROZEN,
    age=timedelta(hours=24),
    live_trials=100,
    live_wanted=True,
    live_rates={SCHEMA: 0.9},
    ordinary_client=True,
)
WORKING = {"tool_call_format": "openai", "streaming": "works", "deviations": []}
GATES = Gates(dict.fromkeys(PROMOTION_STAGES, GATE))
GOOD = GateFacts(
    stage="read_only",
    epoch=3,
    age=timedelta(hours=30),
    runs=(7, 9),
    full_runs=(7,),
    figures={PARSE: TrialCounts(200, 2, 20)},
    baseline=BaselineState.FROZEN,
    live={SCHEMA: TrialCounts(1000, 10, 20)},
    tool_call_format="openai",
    client_view=view_as_client(WORKING, "openai"),
)


def seen_by_client(**over: Any) -> dict[str, Any]:
    values = {**WORKING, **over}
    view = view_as_client(values, "openai")
    return {"client_view": view, "tool_call_format": values["tool_call_format"]}


DUPLICATE = {"code": "duplicate_id", "where": "whole", "attempts": 2, "breaks": ["agents"]}
CASES: list[tuple[str, ConditionState, dict[str, Any], str]] = [
    ("format", MET, {}, "they arrive as openai"),
    ("format", NOT_MET, {"tool_call_format": "none"}, "No format"),
    ("format", NO_DATA, {"tool_call_format": None}, "Nobody has measured"),
    ("format", NOT_MET, {"tool_call_format": "unsettled"}, "Calls arrive in several formats"),
    ("ordinary_client", MET, {}, "An ordinary SDK works with it"),
    (
        "ordinary_client",
        NOT_MET,
        seen_by_client(streaming="leaks"),
        "does not work with it: streaming: calls come as text.",
    ),
    ("ordinary_client", NOT_MET, seen_by_client(streaming="unsettled"), "do not always arrive"),
    (
        "ordinary_client",
        NOT_MET,
        seen_by_client(deviations=[DUPLICATE]),
        "whole: several calls of a turn have the same id (duplicate_id)",
    ),
    ("ordinary_client", MET, seen_by_client(tool_call_format="xml"), "Calls arrive as text (xml)"),
    (
        "ordinary_client",
        NOT_MET,
        seen_by_client(tool_call_format="xml", streaming="loses_calls"),
        "streaming: calls do not arrive.",
    ),
    ("ordinary_client", NO_DATA, seen_by_client(streaming="unknown"), "not measured yet"),
    ("ordinary_client", NO_DATA, seen_by_client(tool_call_format="unknown"), "not measured yet"),
    ("fresh", MET, {}, "not long ago"),
    ("fresh", NOT_MET, {"is_stale": True}, "too old"),
    ("fresh", NO_DATA, {"runs": ()}, "Nothing was measured"),
    ("runs", MET, {}, "2 runs have finished; wanted: 2."),
    ("runs", NOT_MET, {"runs": (7,)}, "1 run has finished; wanted: 2."),
    ("runs", NO_DATA, {"runs": ()}, "0 runs"),
    ("full_runs", MET, {}, "1 run with the full suite"),
    ("full_runs", NO_DATA, {"full_runs": ()}, "0 runs with the full suite"),
    ("trials", MET, {}, "200 trials of parse success were made; wanted: 50."),
    ("trials", NOT_MET, {"figures": {PARSE: TrialCounts(49, 0, 5)}}, "49 trials"),
    ("trials", NO_DATA, {"figures": {}}, "0 trials"),
    ("baseline", MET, {}, "for good what is normal"),
    ("baseline", NOT_MET, {"baseline": BaselineState.PROVISIONAL}, "20 runs and 200 trials"),
    (
        "baseline",
        NOT_MET,
        {"baseline": BaselineState.PROVISIONAL, "interval": timedelta(hours=1)},
        "60 runs and 600 trials",
    ),
    ("baseline", NO_DATA, {"baseline": BaselineState.NONE}, "Too few"),
    ("rate.parse_success", MET, {}, "198 of 200 trials went well. Their rate is at least 97.0%"),
    (
        "rate.parse_success",
        NOT_MET,
        {"figures": {PARSE: TrialCounts(200, 60, 20)}},
        "at most 75.4%",
    ),
    ("rate.parse_success", OPEN, {"figures": {PARSE: TrialCounts(200, 17, 20)}}, "would settle it"),
    ("rate.parse_success", OPEN, {"figures": {PARSE: TrialCounts(200, 20, 20)}}, "too near"),
    ("rate.parse_success", NO_DATA, {"figures": {}}, "no trials"),
    ("incidents", MET, {}, "No incident is open."),
    ("incidents", NOT_MET, {"incidents": (4, 5)}, "2 incidents are open."),
    ("age", MET, {}, "for 30 h; wanted: 24 h."),
    ("age", NOT_MET, {"age": timedelta(hours=23.99)}, "for 23.9 h; wanted: 24 h."),
    ("live.schema_failure", MET, {}, "Schema failures of live traffic: 990 of 1000"),
    ("live.schema_failure", NOT_MET, {"live": {SCHEMA: TrialCounts(1000, 300, 20)}}, "at most"),
    ("live.schema_failure", OPEN, {"live": {SCHEMA: TrialCounts(150, 13, 5)}}, "would settle it"),
    ("live.schema_failure", OPEN, {"live": {SCHEMA: TrialCounts(99, 0, 5)}}, "wanted: 100"),
    ("live.schema_failure", NO_DATA, {"live": {}}, "0 trials at this stage; wanted: 100"),
    ("budget", MET, {}, "is not spent"),
    ("budget", NOT_MET, {"is_budget_spent": True}, "is spent for today"),
]


def evaluate_condition(key: str, facts: GateFacts, gates: Gates = GATES) -> GateCondition:
    return {condition.key: condition for condition in evaluate_gates(gates, facts).conditions}[key]


@pytest.mark.parametrize(("key", "state", "over", "text"), CASES)
def test_every_condition_has_a_state_and_a_sentence(
    key: str, state: ConditionState, over: dict[str, Any], text: str
) -> None:
    """A state, a sentence with figures, the figure itself, and its evidence."""
    condition = evaluate_condition(key, replace(GOOD, **over))

    assert (condition.state, text in condition.text) == (state, True), condition.text
    assert condition.as_json()["state"] == state.value


def test_a_profile_that_meets_every_condition_can_be_promoted() -> None:
    """A failed condition blocks, missing data pauses, and the top stage has no conditions."""
    result = evaluate_gates(GATES, GOOD, version=4)
    assert (result.next, result.version) == ("write", 4)
    assert (result.is_met, result.paused, result.missing) == (True, False, ())

    waiting = evaluate_gates(GATES, replace(GOOD, live={}))
    missed = evaluate_gates(GATES, replace(GOOD, live={}, incidents=(4,)))
    assert (waiting.is_met, waiting.paused) == (False, True)
    assert (missed.is_met, missed.paused) == (False, False)
    assert [condition.key for condition in missed.missing] == ["incidents", "live.schema_failure"]
    assert missed.missing[0].evidence == ("incident", 4)
    top = evaluate_gates(GATES, replace(GOOD, stage="full"))
    assert (top.next, top.conditions, top.is_met) == (None, (), False)


def test_a_requirement_of_zero_is_no_condition() -> None:
    """Live traffic counts only with enough trials, unless it is required."""
    bare = Gates(
        dict.fromkeys(PROMOTION_STAGES, Gate(runs=0, full_runs=0, baseline=BaselineState.NONE))
    )
    assert [condition.key for condition in evaluate_gates(bare, GOOD).conditions] == [
        "format",
        "fresh",
        "incidents",
        "budget",
    ]
    modest = Gates(dict.fromkeys(PROMOTION_STAGES, replace(GATE, live_wanted=False)))
    assert evaluate_condition("live.schema_failure", replace(GOOD, live={}), modest).state is MET
    bad = replace(GOOD, live={SCHEMA: TrialCounts(100, 50, 5)})
    assert evaluate_condition("live.schema_failure", bad, modest).state is NOT_MET


@given(
    runs=st.integers(1, 60),
    per_run=st.integers(1, 60),
    share=st.floats(0, 1),
    more=st.integers(0, 40),
    bar=st.floats(0.5, 0.99),
)
def test_more_failures_never_turn_a_condition_to_met(
    runs: int, per_run: int, share: float, more: int, bar: float
) -> None:
    """Neither instead of successes nor on top of them."""
    trials = runs * per_run
    failures = int(share * trials)
    gate = Gates(dict.fromkeys(PROMOTION_STAGES, replace(GATE, rates={PARSE: bar})))
    before = replace(GOOD, figures={PARSE: TrialCounts(trials, failures, runs)})
    if evaluate_condition("rate.parse_success", before, gate).state is MET:
        return
    for worse in (
        TrialCounts(trials, min(failures + more, trials), runs),
        TrialCounts(trials + more, failures + more, runs),
    ):
        after = replace(GOOD, figures={PARSE: worse})
        assert evaluate_condition("rate.parse_success", after, gate).state is not MET
        for low, high in (success_bounds(worse, PROBE), success_bounds(worse, LIVE)):
            assert 0 <= low <= high <= 1


def test_the_lower_bound_is_the_reference_of_the_detector() -> None:
    """p_ref, by the detector's own formula."""
    counts = TrialCounts(200, 4, 20)

    assert success_bounds(counts, PROBE)[0] == Baseline(196, 200, 20).reference(PROBE)
    assert reference_rate(counts, PROBE) == Baseline(196, 200, 20).reference(PROBE)


@pytest.mark.parametrize(("failures", "bar"), [(10, 0.92), (14, 0.95)])
def test_the_suggested_number_of_trials_settles_it(failures: int, bar: float) -> None:
    """If the rate stays the same; far fewer would not."""
    counts = TrialCounts(200, failures, 20)
    more = trials_to_settle(counts, bar, PROBE)
    assert more

    def is_settled(extra: int) -> bool:
        grow = (200 + extra) / 200
        scaled = TrialCounts(200 + extra, round(failures * grow), round(20 * grow))
        low, high = success_bounds(scaled, PROBE)
        return low >= bar or high < bar

    assert is_settled(more * 2)
    assert not is_settled(more // 3)


def test_the_default_gates_get_stricter_with_each_stage() -> None:
    """Their JSON reads back as the same gates."""
    steps = [DEFAULTS.by_stage[stage] for stage in PROMOTION_STAGES]
    for easier, harder in pairwise(steps):
        assert harder.runs > easier.runs
        assert harder.trials > easier.trials
        assert harder.age > easier.age
        assert all(harder.rates[metric] > rate for metric, rate in easier.rates.items())
    assert (steps[0].baseline, steps[1].baseline) == (
        BaselineState.PROVISIONAL,
        BaselineState.FROZEN,
    )
    assert gates_from_json(DEFAULTS.as_json()) == DEFAULTS
    assert find_gate_errors(DEFAULTS.as_json()) == []


def test_a_stored_table_asks_for_no_more_than_it_did() -> None:
    """One from before the condition of an ordinary client reads as without it."""
    body = DEFAULTS.as_json()
    for gate in body.values():
        del gate["ordinary_client"]
        del gate["rates"]["value_fidelity"], gate["rates"]["result_use"]
    stored = gates_from_json(body)

    assert not any(gate.ordinary_client for gate in stored.by_stage.values())
    facts = replace(GOOD, stage="shadow", **seen_by_client(streaming="leaks"))
    keys = [condition.key for condition in evaluate_gates(stored, facts).conditions]
    assert not {"ordinary_client", "rate.result_use", "rate.value_fidelity"} & {*keys}
    assert all(gate.ordinary_client for gate in DEFAULTS.by_stage.values())
    assert "read_only.ordinary_client" in [at for at, _ in find_gate_errors(body)]


def test_a_healthy_endpoint_settles_its_rates_within_its_first_runs() -> None:
    """One full run is enough for values, one and two light ones for results."""
    figures = {
        Metric.RESULT_USE: TrialCounts(3 + 2, 0, 3),
        Metric.VALUE_FIDELITY: TrialCounts(54, 0, 1),
    }
    facts = replace(GOOD, stage="shadow", figures={**GOOD.figures, **figures})

    for metric in figures:
        condition = evaluate_condition(f"rate.{metric.value}", facts, DEFAULTS)
        assert condition.state is MET, condition.text


@pytest.mark.parametrize(
    ("over", "path"),
    [
        ({"runs": -1}, "write.runs"),
        ({"runs": True}, "write.runs"),
        ({"trials": 1.5}, "write.trials"),
        ({"age_hours": float("nan")}, "write.age_hours"),
        ({"age_hours": "1"}, "write.age_hours"),
        ({"baseline": "melted"}, "write.baseline"),
        ({"live_wanted": 1}, "write.live_wanted"),
        ({"ordinary_client": 1}, "write.ordinary_client"),
        ({"rates": {"parse_success": 0.995}}, "write.rates.parse_success"),
        ({"rates": {"charm": 0.5}}, "write.rates.charm"),
        ({"live_rates": []}, "write.live_rates"),
        ({"luck": 1}, "write.luck"),
    ],
)
def test_invalid_gates_are_reported_by_path(over: dict[str, Any], path: str) -> None:
    """Each error has a path and a sentence; a missing condition is an error too."""
    body = DEFAULTS.as_json()

    errors = find_gate_errors({**body, "write": {**body["write"], **over}})

    assert [at for at, _ in errors] == [path]
    assert all(message.endswith(".") for _, message in errors)
    assert [at for at, _ in find_gate_errors({**body, "write": None, "top": {}})] == [
        "top",
        "write",
    ]
    assert find_gate_errors([]) == [("", "Gates are an object with one entry for each stage.")]
    assert "write.runs" in [at for at, _ in find_gate_errors({**body, "write": {}})]


def test_a_condition_is_translated_when_displayed() -> None:
    """Not when it was evaluated; stored text is English."""
    conditions = evaluate_gates(GATES, replace(GOOD, runs=(7,))).conditions
    translation.set_language(
        translation.Language(one=str.upper, many=lambda one, many, count: one.upper())
    )
    try:
        shouted = [
            condition.text for condition in conditions if condition.key in {"fresh", "baseline"}
        ]
        with translation.in_english():
            stored = [condition.text for condition in conditions if condition.key == "runs"]
    finally:
        translation.set_language(translation.ENGLISH)

    assert shouted[0] == "IT WAS MEASURED NOT LONG AGO."
    assert stored == ["1 run has finished; wanted: 2."]
