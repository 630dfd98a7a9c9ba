from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from health.detector import BaselineState
from health.modes import CONSERVATIVE, Mode
from health.policy import RISKS_BY_STAGE, SCHEMA_LEVELS, resolve_policy
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
    "parallel": "any",
    "parallel_calls": 5,
    "reasoning_replay": "tolerated",
    "supports_streaming_tool_use": True,
    "error_repair": "reliable",
    "tool_choice": ["auto", "none", "required", "named"],
    "trimmed_history": "taken",
}


def measured(**over: Any) -> dict[str, Any]:
    """Capabilities in the JSON form of a profile."""
    return {name: {"value": value, "trials": 9} for name, value in {**GOOD, **over}.items()}


TRUSTED = PolicyFacts(
    endpoint="steady",
    provider="openai",
    model="m-1",
    endpoint_url="https://inference.example/v1",
    stage="full",
    capabilities=measured(),
    baseline=BaselineState.FROZEN,
)


def active_mode(mode: Mode, **over: Any) -> ActiveMode:
    return ActiveMode(mode, "because", "2026-05-01T12:00:00+00:00", **over)


def body(**over: Any) -> dict[str, Any]:
    return resolve_policy(replace(TRUSTED, **over)).body


def test_a_good_endpoint_at_the_full_stage_is_unrestricted() -> None:
    """Every measured capability may be used."""
    policy = body()

    assert policy["modes"]["effective"] == []
    assert policy["tool_call"] == {"wire": "openai", "format": "openai", "parser": None}
    assert policy["parallel"] == {"allowed": True, "max_calls_per_turn": 5}
    assert policy["streaming"] == {"tools": True, "text": True}
    assert policy["schema"] == {"level": "strict_json_schema", "simplify": False}
    assert policy["validation"] == {"required": True, "repairs_allowed": True, "max_reasks": 2}
    assert policy["replay"] == {"rule": "none", "verbatim": False, "trim": True}
    assert policy["tool_choice"] == ["auto", "none", "required", "named"]
    assert policy["risk"] == {
        "allowed": ["read", "write", "dangerous"],
        "rules": [],
        "defaults": "v1",
    }
    assert policy["reasons"] == ["The stage allows all tools."]


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
    """Without an allowed risk class there is no format either: no live tools."""
    policy = body(stage=stage)

    assert policy["risk"]["allowed"] == allowed
    assert policy["tool_call"]["format"] == ("openai" if allowed else "none")
    assert policy["parallel"]["max_calls_per_turn"] == (5 if allowed else 0)


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
    """Whatever its cause, a mode restricts its own field."""
    assert body(manual=[active_mode(mode)])[place] == expected
    assert body(automatic=[active_mode(mode, incident=7)])[place] == expected


def test_modes_are_listed_by_cause() -> None:
    """An incident and a person may turn on the same mode; it is effective once."""
    modes = body(
        automatic=[active_mode(Mode.NO_PARALLEL, incident=7)],
        manual=[active_mode(Mode.NO_PARALLEL, author="alice"), active_mode(Mode.VERBATIM_HISTORY)],
    )["modes"]

    assert [switch["incident"] for switch in modes["automatic"]] == [7]
    assert [(s["mode"], s["author"]) for s in modes["manual"]] == [
        ("verbatim_history", ""),
        ("no_parallel", "alice"),
    ]
    assert modes["effective"] == ["verbatim_history", "no_parallel"]


@pytest.mark.parametrize("over", [{"is_stale": True}, {"baseline": BaselineState.NONE}])
def test_missing_or_stale_measurements_use_the_conservative_modes(over: dict[str, Any]) -> None:
    """Only reading tools remain, one call at a time and not streamed, with a reason."""
    policy = body(**over)

    assert set(policy["modes"]["effective"]) == {mode.value for mode in CONSERVATIVE}
    assert policy["risk"]["allowed"] == ["read"]
    assert policy["modes"]["default"][0]["reason"] == policy["reasons"][1]


def test_an_endpoint_that_was_never_measured_has_no_tools() -> None:
    """Not even at the last stage."""
    policy = body(capabilities={})

    assert policy["tool_call"]["format"] == "none"
    assert "Nothing was measured yet." in policy["reasons"]


@pytest.mark.parametrize("metric", GATES, ids=str)
def test_a_metric_below_its_gate_switches_modes_on(metric: Metric) -> None:
    """A metric that never met its gate turns modes on without an incident."""
    policy = body(below_gate=[metric])

    weak = metric in (Metric.SCHEMA_FAILURE, Metric.VALUE_FIDELITY)
    assert policy["risk"]["allowed"] == (["read"] if weak else [])
    assert any("gate" in mode["reason"] for mode in policy["modes"]["default"])


@pytest.mark.parametrize("unknown", [None, "unknown", 17, "", [], {}, {"a": 1}, True])
def test_unknown_and_malformed_capabilities_count_as_absent(unknown: Any) -> None:
    """A capability is used only if it was measured."""
    vague: dict[str, Any] = {name: {"value": unknown} for name in GOOD}
    vague["tool_call_format"] = {"value": "openai"}
    vague["supports_parallel_tool_use"] = {"value": "yes"}
    vague["supports_streaming_tool_use"] = None

    policy = body(capabilities=vague)

    assert policy["parallel"] == {"allowed": False, "max_calls_per_turn": 1}
    assert policy["streaming"]["tools"] is False
    assert policy["schema"] == {"level": "simple_object", "simplify": True}
    assert policy["validation"]["max_reasks"] == 1
    assert policy["tool_choice"] == []
    assert policy["replay"]["trim"] is False


@pytest.mark.parametrize(
    ("provider", "replay", "rule", "verbatim"),
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
def test_measured_replay_overrides_the_dialect(
    provider: str, replay: str | None, rule: str, verbatim: bool
) -> None:
    """The dialect's rule holds until a probe measures another; unmeasured history is verbatim."""
    policy = body(provider=provider, capabilities=measured(reasoning_replay=replay))

    assert (policy["replay"]["rule"], policy["replay"]["verbatim"]) == (rule, verbatim)


@pytest.mark.parametrize(
    ("repair", "reasks"), [("reliable", 2), ("limited", 1), ("none", 0), ("unknown", 1)]
)
def test_the_number_of_re_asks_follows_the_measured_repair(repair: str, reasks: int) -> None:
    """If a re-ask never helped, there is none."""
    assert body(capabilities=measured(error_repair=repair))["validation"]["max_reasks"] == reasks


def test_calls_in_text_name_their_parser() -> None:
    """The caller must parse them from the content."""
    policy = body(capabilities=measured(tool_call_format="xml", parser="hermes"))

    assert policy["tool_call"] == {"wire": "openai", "format": "xml", "parser": "hermes"}


def test_a_candidate_only_tightens() -> None:
    """Its incidents and failed gates count; that it is unmeasured does not."""
    quiet = body(candidate=Candidate(2))
    assert (quiet["candidate"]["epoch"], quiet["candidate"]["stage"]) == (2, "shadow")
    assert {**quiet, "candidate": None} == body()

    held = body(candidate=Candidate(2, automatic=[active_mode(Mode.NO_PARALLEL, incident=4)]))
    assert held["modes"]["effective"] == ["no_parallel"]
    assert held["modes"]["automatic"][0]["incident"] == 4
    gated = body(candidate=Candidate(2, below_gate=[Metric.PARSE_SUCCESS]))
    assert gated["risk"]["allowed"] == []
    assert "of the new profile" in gated["modes"]["default"][0]["reason"]
    old = body(candidate=Candidate(2), is_stale=True)
    assert any("the key has changed" in reason for reason in old["reasons"])


def test_rules_of_the_operator_are_part_of_the_answer() -> None:
    """In their order, since the first match decides."""
    rules = (RiskRule("b*", Risk.READ, "a note"), RiskRule("a*", Risk.WRITE))

    assert body(rules=rules)["risk"]["rules"] == [
        {"pattern": "b*", "risk": "read"},
        {"pattern": "a*", "risk": "write"},
    ]


values = st.none() | st.booleans() | st.integers() | st.text(max_size=6)
garbage = st.recursive(values, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
fact_values = st.one_of(
    *(
        st.sampled_from(
            [measured(**{name: value})[name] for value in (GOOD[name], "none", "unknown")]
        )
        for name in GOOD
    ),
    garbage,
)
switches = st.lists(st.builds(active_mode, st.sampled_from(Mode)), max_size=3)
facts = st.builds(
    PolicyFacts,
    endpoint=st.just("steady"),
    provider=st.sampled_from([*map(str, Provider), "nobody"]),
    model=st.text(max_size=4),
    endpoint_url=st.text(max_size=4),
    stage=st.sampled_from([*RISKS_BY_STAGE, "of another version"]),
    capabilities=st.just(measured())
    | st.dictionaries(st.sampled_from([*GOOD, "more"]), fact_values),
    baseline=st.sampled_from(BaselineState),
    is_stale=st.booleans(),
    below_gate=st.lists(st.sampled_from(list(GATES)), unique=True),
    automatic=switches,
    manual=switches,
)


@settings(deadline=None)
@given(facts)
def test_any_facts_give_a_deterministic_json_policy(given_facts: PolicyFacts) -> None:
    """Also malformed capabilities; twice the same, in the same order of fields."""
    policy = resolve_policy(given_facts).body

    text = json.dumps(policy, allow_nan=False)
    assert json.loads(text) == policy
    assert json.dumps(resolve_policy(given_facts).body) == text


@settings(deadline=None)
@given(facts)
def test_effective_modes_are_the_union_of_all_causes(given_facts: PolicyFacts) -> None:
    """Automatic, manual and default modes add up; none removes another."""
    resolved = resolve_policy(given_facts)

    modes = resolved.body["modes"]
    causes = {entry["mode"] for kind in ("automatic", "manual", "default") for entry in modes[kind]}
    assert set(modes["effective"]) == causes == {mode.value for mode in resolved.effective}


@settings(deadline=None)
@given(facts, st.sampled_from(Mode), st.booleans())
def test_a_further_mode_never_loosens_anything(
    given_facts: PolicyFacts, mode: Mode, by_hand: bool
) -> None:
    """At every stage, each field is tighter or the same."""
    kind = "manual" if by_hand else "automatic"
    added: dict[str, Any] = {kind: [*getattr(given_facts, kind), active_mode(mode)]}
    more = replace(given_facts, **added)

    assert_at_most_as_permissive(resolve_policy(more).body, resolve_policy(given_facts).body)


@settings(deadline=None)
@given(facts, st.sampled_from(sorted(GATES)))
def test_worse_facts_never_loosen_anything(given_facts: PolicyFacts, metric: Metric) -> None:
    """Becoming stale, losing the baseline and failing a gate each only tighten."""
    before = resolve_policy(given_facts).body
    worse = [
        replace(given_facts, is_stale=True),
        replace(given_facts, baseline=BaselineState.NONE),
        replace(given_facts, below_gate=[*given_facts.below_gate, metric]),
        replace(given_facts, stage="shadow"),
    ]

    for entry in worse:
        assert_at_most_as_permissive(resolve_policy(entry).body, before)


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
    assert SCHEMA_LEVELS.index(tight["schema"]["level"]) <= SCHEMA_LEVELS.index(
        loose["schema"]["level"]
    )
    assert tight["schema"]["simplify"] >= loose["schema"]["simplify"]
    assert set(tight["tool_choice"]) <= set(loose["tool_choice"])
    assert set(tight["risk"]["allowed"]) <= set(loose["risk"]["allowed"])
    assert set(tight["modes"]["effective"]) >= set(loose["modes"]["effective"])


@pytest.mark.parametrize(
    ("parallel_calls", "expected"), [(2, 2), (5, 5), (1, 2), (None, 2), (1000, 64)]
)
def test_a_turn_may_have_as_many_calls_as_were_measured(
    parallel_calls: int | None, expected: int
) -> None:
    """Where parallel calls work, two do: every suite asks for two."""
    policy = body(capabilities=measured(parallel_calls=parallel_calls))

    assert policy["parallel"] == {"allowed": True, "max_calls_per_turn": expected}


SPLIT_FORMAT = "Calls arrive in several formats, so no tools are offered."
CAREFUL: list[tuple[str, object, str, dict[str, Any], str]] = [
    (
        "tool_call_format",
        "unsettled",
        "tool_call",
        {"wire": "openai", "format": "none", "parser": None},
        SPLIT_FORMAT,
    ),
    (
        "supports_parallel_tool_use",
        None,
        "parallel",
        {"allowed": False, "max_calls_per_turn": 1},
        "Parallel calls work only at times, so one call per turn is allowed.",
    ),
    (
        "supports_streaming_tool_use",
        None,
        "streaming",
        {"tools": False, "text": True},
        "Streamed calls arrive only at times, so turns with tools are fetched whole.",
    ),
    (
        "schema_level",
        "unsettled",
        "schema",
        {"level": "simple_object", "simplify": True},
        "Arguments fit their schema only at times, so schemas are simplified.",
    ),
    (
        "reasoning_replay",
        "unsettled",
        "replay",
        {"rule": "none", "verbatim": True, "trim": True},
        "It is not settled which reasoning must be sent back, so the history stays verbatim.",
    ),
    (
        "trimmed_history",
        "unsettled",
        "replay",
        {"rule": "none", "verbatim": False, "trim": False},
        "Trimmed histories are refused at times, so nothing is trimmed.",
    ),
]


@pytest.mark.parametrize(("name", "value", "place", "expected", "reason"), CAREFUL)
def test_an_unsettled_field_takes_the_careful_side_and_says_so(
    name: str, value: object, place: str, expected: dict[str, Any], reason: str
) -> None:
    """A capability that works at times counts as absent, with its own reason."""
    capabilities = measured()
    capabilities[name] = {"value": value, "trials": 9, "unsettled": True}
    policy = body(capabilities=capabilities)

    assert policy[place] == expected
    assert policy["reasons"][1:] == [reason]


def test_calls_that_arrive_and_cannot_be_read_turn_tools_off_for_that_reason() -> None:
    """The format is that of the wire; parse success says why no tools are offered."""
    policy = body(below_gate=[Metric.PARSE_SUCCESS], capabilities=measured(schema_level="unknown"))

    assert policy["tool_call"]["format"] == "none"
    assert "Parse success never came up to the gate." in policy["reasons"]
    assert "No format of tool calls was measured that works." not in policy["reasons"]
