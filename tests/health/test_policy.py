from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from health.detector import Known
from health.modes import CONSERVATIVE, Mode
from health.policy import LEVELS, STAGES, resolve_policy
from health.policy_facts import ActiveMode, Candidate, PolicyFacts
from health.risk import Risk, RiskRule
from health.severity import GATES
from probes.outcomes import Metric
from probes.target import Provider

GOOD = {
    "schema_level": "strict_json_schema",
    "tool_call_format": "openai",
    "parser": None,
    "supports_parallel_tool_use": True,
    "reasoning_replay": "tolerated",
    "supports_streaming_tool_use": True,
    "error_repair": "reliable",
    "tool_choice": ["auto", "none", "required", "named"],
    "trimmed_history": "taken",
}


def able(**over: Any) -> dict[str, Any]:
    """Capabilities as a profile keeps them."""
    return {name: {"value": value, "trials": 9} for name, value in {**GOOD, **over}.items()}


TRUSTED = PolicyFacts(
    endpoint="steady",
    provider="openai",
    model="m-1",
    endpoint_url="https://inference.example/v1",
    stage="full",
    capabilities=able(),
    baseline=Known.FROZEN,
)


def on(mode: Mode, **over: Any) -> ActiveMode:
    return ActiveMode(mode, "because", "2026-05-01T12:00:00+00:00", **over)


def body(**over: Any) -> dict[str, Any]:
    return resolve_policy(replace(TRUSTED, **over)).body


def test_a_good_endpoint_in_full_use_is_held_back_by_nothing() -> None:
    """The other end of the scale: everything that was measured may be used."""
    found = body()

    assert found["modes"]["effective"] == []
    assert found["tool_call"] == {"wire": "openai", "format": "openai", "parser": None}
    assert found["parallel"] == {"allowed": True, "max_calls_per_turn": 64}
    assert found["streaming"] == {"tools": True, "text": True}
    assert found["schema"] == {"level": "strict_json_schema", "simplify": False}
    assert found["validation"] == {"required": True, "repairs_allowed": True, "max_reasks": 2}
    assert found["replay"] == {"rule": "none", "verbatim": False, "trim": True}
    assert found["tool_choice"] == ["auto", "none", "required", "named"]
    assert found["risk"] == {
        "allowed": ["read", "write", "dangerous"],
        "rules": [],
        "defaults": "v1",
    }
    assert found["reasons"] == ["The stage allows all tools."]


@pytest.mark.parametrize(
    ("stage", "allowed"),
    [
        ("shadow", []),
        ("read_only", ["read"]),
        ("write", ["read", "write"]),
        ("full", ["read", "write", "dangerous"]),
        ("rejected", []),
        ("rolled_back", ["read"]),
        ("of another version", []),
    ],
)
def test_the_stage_says_which_tools_may_be_used(stage: str, allowed: list[str]) -> None:
    """Without a class that is allowed there is no format either: no live tools."""
    found = body(stage=stage)

    assert found["risk"]["allowed"] == allowed
    assert found["tool_call"]["format"] == ("openai" if allowed else "none")
    assert found["parallel"]["max_calls_per_turn"] == (64 if allowed else 0)


@pytest.mark.parametrize(
    ("mode", "place", "expected"),
    [
        (Mode.VERBATIM_HISTORY, "replay", {"rule": "none", "verbatim": True, "trim": False}),
        (Mode.NO_PARALLEL, "parallel", {"allowed": False, "max_calls_per_turn": 1}),
        (Mode.NO_STREAMING_TOOLS, "streaming", {"tools": False, "text": True}),
        (Mode.STRICT_SCHEMA, "schema", {"level": "simple_object", "simplify": True}),
        (
            Mode.STRICT_SCHEMA,
            "validation",
            {"required": True, "repairs_allowed": False, "max_reasks": 2},
        ),
        (
            Mode.STRONG_VALIDATION,
            "validation",
            {"required": True, "repairs_allowed": False, "max_reasks": 1},
        ),
        (
            Mode.READ_ONLY_TOOLS,
            "risk",
            {"allowed": ["read"], "rules": [], "defaults": "v1"},
        ),
        (Mode.NO_TOOLS, "tool_call", {"wire": "openai", "format": "none", "parser": None}),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else "",
)
def test_every_mode_has_its_effect(mode: Mode, place: str, expected: dict[str, Any]) -> None:
    """Whoever switches it on, a mode does what it is called."""
    assert body(manual=[on(mode)])[place] == expected
    assert body(automatic=[on(mode, incident=7)])[place] == expected


def test_modes_are_told_apart_by_who_switched_them_on() -> None:
    """An incident and a person may hold the same mode; it is on once."""
    found = body(
        automatic=[on(Mode.NO_PARALLEL, incident=7)],
        manual=[on(Mode.NO_PARALLEL, author="alice"), on(Mode.VERBATIM_HISTORY)],
    )["modes"]

    assert [switch["incident"] for switch in found["automatic"]] == [7]
    assert [(s["mode"], s["author"]) for s in found["manual"]] == [
        ("verbatim_history", ""),
        ("no_parallel", "alice"),
    ]
    assert found["effective"] == ["verbatim_history", "no_parallel"]


@pytest.mark.parametrize("over", [{"is_stale": True}, {"baseline": Known.NONE}])
def test_too_little_or_too_old_knowledge_is_the_conservative_default(over: dict[str, Any]) -> None:
    """Reading tools, one at a time and whole, is what is left; the reason is told."""
    found = body(**over)

    assert set(found["modes"]["effective"]) == {mode.value for mode in CONSERVATIVE}
    assert found["risk"]["allowed"] == ["read"]
    assert found["modes"]["default"][0]["reason"] == found["reasons"][1]


def test_an_endpoint_that_was_never_measured_has_no_tools() -> None:
    """Not even in the last stage."""
    found = body(capabilities={})

    assert found["tool_call"]["format"] == "none"
    assert "Nothing was measured yet." in found["reasons"]


@pytest.mark.parametrize("metric", GATES, ids=str)
def test_a_metric_below_its_gate_switches_modes_on(metric: Metric) -> None:
    """What never was good enough is off without any incident."""
    found = body(below_gate=[metric])

    weak = metric is Metric.SCHEMA_FAILURE
    assert found["risk"]["allowed"] == (["read"] if weak else [])
    assert any("gate" in mode["reason"] for mode in found["modes"]["default"])


@pytest.mark.parametrize("unknown", [None, "unknown", 17, "", [], {}, {"a": 1}, True])
def test_what_is_unknown_or_nonsense_counts_as_absent(unknown: Any) -> None:
    """A capability is used only where it was measured."""
    vague: dict[str, Any] = {name: {"value": unknown} for name in GOOD}
    vague["tool_call_format"] = {"value": "openai"}
    vague["supports_parallel_tool_use"] = {"value": "yes"}
    vague["supports_streaming_tool_use"] = None

    found = body(capabilities=vague)

    assert found["parallel"] == {"allowed": False, "max_calls_per_turn": 1}
    assert found["streaming"]["tools"] is False
    assert found["schema"] == {"level": "simple_object", "simplify": True}
    assert found["validation"]["max_reasks"] == 1
    assert found["tool_choice"] == []
    assert found["replay"]["trim"] is False


@pytest.mark.parametrize(
    ("provider", "measured", "rule", "verbatim"),
    [
        ("openai", "required_same_turn", "same_turn", False),
        ("openai", "required_all_turns", "all_turns", False),
        ("kimi", "rejected", "none", False),
        ("kimi", "tolerated", "all_turns", False),
        ("anthropic", "none", "signature", False),
        ("openai_responses", "unknown", "item_pair", True),
        ("gemini", None, "signature", True),
        ("nobody", "tolerated", "none", False),
    ],
)
def test_measured_replay_wins_over_the_guess(
    provider: str, measured: str | None, rule: str, verbatim: bool
) -> None:
    """The dialect's rule holds until a probe has found another; a mere guess is kept verbatim."""
    found = body(provider=provider, capabilities=able(reasoning_replay=measured))

    assert (found["replay"]["rule"], found["replay"]["verbatim"]) == (rule, verbatim)


@pytest.mark.parametrize(
    ("repair", "reasks"), [("reliable", 2), ("limited", 1), ("none", 0), ("unknown", 1)]
)
def test_the_model_is_asked_again_as_often_as_that_helps(repair: str, reasks: int) -> None:
    """Where a second question never helped, none is asked."""
    assert body(capabilities=able(error_repair=repair))["validation"]["max_reasks"] == reasks


def test_calls_in_text_name_their_parser() -> None:
    """The caller must read them out of the content."""
    found = body(capabilities=able(tool_call_format="xml", parser="hermes"))

    assert found["tool_call"] == {"wire": "openai", "format": "xml", "parser": "hermes"}


def test_a_profile_that_waits_tightens_and_is_otherwise_only_named() -> None:
    """Its incidents and what never came up to the gate count; that it is unmeasured does not."""
    quiet = body(candidate=Candidate(2))
    assert quiet["candidate"] == {"epoch": 2, "stage": "shadow"}
    assert {**quiet, "candidate": None} == body()

    held = body(candidate=Candidate(2, automatic=[on(Mode.NO_PARALLEL, incident=4)]))
    assert held["modes"]["effective"] == ["no_parallel"]
    assert held["modes"]["automatic"][0]["incident"] == 4
    gated = body(candidate=Candidate(2, below_gate=[Metric.PARSE_SUCCESS]))
    assert gated["risk"]["allowed"] == []
    assert "of the new profile" in gated["modes"]["default"][0]["reason"]
    old = body(candidate=Candidate(2), is_stale=True)
    assert any("the key has changed" in reason for reason in old["reasons"])


def test_rules_of_the_operator_are_part_of_the_answer() -> None:
    """In their order, since the first that fits decides."""
    rules = (RiskRule("b*", Risk.READ, "a note"), RiskRule("a*", Risk.WRITE))

    assert body(rules=rules)["risk"]["rules"] == [
        {"pattern": "b*", "risk": "read"},
        {"pattern": "a*", "risk": "write"},
    ]


values = st.none() | st.booleans() | st.integers() | st.text(max_size=6)
garbage = st.recursive(values, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
told = st.one_of(
    *(
        st.sampled_from([able(**{name: value})[name] for value in (GOOD[name], "none", "unknown")])
        for name in GOOD
    ),
    garbage,
)
switches = st.lists(st.builds(on, st.sampled_from(Mode)), max_size=3)
facts = st.builds(
    PolicyFacts,
    endpoint=st.just("steady"),
    provider=st.sampled_from([*map(str, Provider), "nobody"]),
    model=st.text(max_size=4),
    endpoint_url=st.text(max_size=4),
    stage=st.sampled_from([*STAGES, "of another version"]),
    capabilities=st.just(able()) | st.dictionaries(st.sampled_from([*GOOD, "more"]), told),
    baseline=st.sampled_from(Known),
    is_stale=st.booleans(),
    below_gate=st.lists(st.sampled_from(list(GATES)), unique=True),
    automatic=switches,
    manual=switches,
)


@settings(deadline=None)
@given(facts)
def test_any_facts_give_one_answer_that_is_json(given_facts: PolicyFacts) -> None:
    """Also capabilities that make no sense; twice the same, in the same order of fields."""
    found = resolve_policy(given_facts).body

    text = json.dumps(found, allow_nan=False)
    assert json.loads(text) == found
    assert json.dumps(resolve_policy(given_facts).body) == text


@settings(deadline=None)
@given(facts)
def test_what_is_on_is_the_union_of_all_causes(given_facts: PolicyFacts) -> None:
    """Automatic, manual and default modes add up; none takes another away."""
    resolved = resolve_policy(given_facts)

    modes = resolved.body["modes"]
    causes = {each["mode"] for kind in ("automatic", "manual", "default") for each in modes[kind]}
    assert set(modes["effective"]) == causes == {mode.value for mode in resolved.effective}


@settings(deadline=None)
@given(facts, st.sampled_from(Mode), st.booleans())
def test_a_further_mode_never_loosens_anything(
    given_facts: PolicyFacts, mode: Mode, by_hand: bool
) -> None:
    """Whatever else holds, in every stage: tighter or the same, field by field."""
    kind = "manual" if by_hand else "automatic"
    added: dict[str, Any] = {kind: [*getattr(given_facts, kind), on(mode)]}
    more = replace(given_facts, **added)

    assert_at_most_as_permissive(resolve_policy(more).body, resolve_policy(given_facts).body)


@settings(deadline=None)
@given(facts, st.sampled_from(sorted(GATES)))
def test_knowing_worse_never_loosens_anything(given_facts: PolicyFacts, metric: Metric) -> None:
    """Becoming stale, losing the baseline, falling below a gate: each only tightens."""
    before = resolve_policy(given_facts).body
    worse = [
        replace(given_facts, is_stale=True),
        replace(given_facts, baseline=Known.NONE),
        replace(given_facts, below_gate=[*given_facts.below_gate, metric]),
        replace(given_facts, stage="shadow"),
    ]

    for each in worse:
        assert_at_most_as_permissive(resolve_policy(each).body, before)


def assert_at_most_as_permissive(tight: dict[str, Any], loose: dict[str, Any]) -> None:
    for place, field in [
        ("parallel", "allowed"),
        ("parallel", "max_calls_per_turn"),
        ("streaming", "tools"),
        ("validation", "repairs_allowed"),
        ("validation", "max_reasks"),
        ("replay", "trim"),
        ("retry", "max_retries"),
    ]:
        assert tight[place][field] <= loose[place][field], (place, field)
    assert tight["validation"]["required"] is True
    assert tight["replay"]["verbatim"] >= loose["replay"]["verbatim"]
    assert tight["replay"]["rule"] == loose["replay"]["rule"]
    assert tight["tool_call"]["format"] in {"none", loose["tool_call"]["format"]}
    assert LEVELS.index(tight["schema"]["level"]) <= LEVELS.index(loose["schema"]["level"])
    assert tight["schema"]["simplify"] >= loose["schema"]["simplify"]
    assert set(tight["tool_choice"]) <= set(loose["tool_choice"])
    assert set(tight["risk"]["allowed"]) <= set(loose["risk"]["allowed"])
    assert set(tight["modes"]["effective"]) >= set(loose["modes"]["effective"])
