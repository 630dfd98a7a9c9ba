"""The capability profile, field by field, from hand-made attempts."""

from __future__ import annotations

from typing import Any

import pytest

from health.capabilities import CHOICES, MIN_TURNS, Capability, derive_capabilities, settle_verdicts
from health.rates import rate_interval
from probes.outcomes import Attempt, FindingKind, Metric, Outcome, Verdict
from tests.health.builders import attempt, attempts_with_facts


def field(name: str, attempts: list[Attempt], wire: str = "openai") -> Capability:
    return derive_capabilities(attempts, wire)[name]


def test_without_attempts_every_field_is_unknown() -> None:
    """No field has a trial."""
    capabilities = derive_capabilities([], "openai")

    unknown = {name for name, capability in capabilities.items() if capability.value == "unknown"}
    empty = {name for name, capability in capabilities.items() if capability.value is None}
    switches = {"supports_parallel_tool_use", "supports_streaming_tool_use"}
    assert empty == {"parser", "tool_choice", *switches}
    assert unknown == set(capabilities) - empty
    assert all(c.trials == 0 and c.evidence == () for c in capabilities.values())


def test_void_attempts_say_nothing() -> None:
    """A run without any answer leaves every field unknown."""
    void = [attempt("format", n, outcome=Outcome.VOID) for n in range(1, 9)]

    assert derive_capabilities(void, "openai") == derive_capabilities([], "openai")


@pytest.mark.parametrize(
    ("formats", "value", "parser"),
    [
        (["openai"] * 3, "openai", None),
        (["openai", "hermes", None], "openai", None),
        (["hermes"] * 3, "json_text", "hermes"),
        (["hermes", "qwen3_coder", "hermes"], "json_text", "hermes"),
        (["qwen3_coder"] * 2, "xml", "qwen3_coder"),
        (["hermes", None, None], "json_text", "hermes"),
        ([None] * MIN_TURNS, "none", None),
        ([None] * (MIN_TURNS - 1), "unknown", None),
    ],
)
def test_the_format_is_the_wire_or_the_text_that_calls_come_in(
    formats: list[str | None], value: str, parser: str | None
) -> None:
    """One call on the wire proves the wire format; one missing call proves nothing."""
    attempts = [attempt("format", n, formats=[form]) for n, form in enumerate(formats, 1)]

    assert field("tool_call_format", attempts).value == value
    assert field("parser", attempts).value == parser


@pytest.mark.parametrize("wire", ["anthropic", "openai", "openai_responses", "gemini", "ollama"])
def test_the_wire_format_has_its_own_name(wire: str) -> None:
    """The value is the provider's own wire format."""
    assert field("tool_call_format", [attempt("format", formats=[wire])], wire).value == wire


@pytest.mark.parametrize(
    "kind", [FindingKind.NO_TOOLS, FindingKind.SERVER_PARSE, FindingKind.ENDPOINT_MISMATCH]
)
def test_an_endpoint_that_says_no_to_tools_has_none(kind: FindingKind) -> None:
    """One refusal of tools proves it, and decides the fields that depend on calls."""
    refused = [attempt("format", outcome=Outcome.FAIL, findings=[kind], formats=[])]
    capabilities = derive_capabilities(refused, "openai")

    assert capabilities["tool_call_format"] == Capability("none", 1, 1, ("format/1",))
    assert capabilities["schema_level"].value == "none"
    assert capabilities["reasoning_replay"].value == "none"
    assert capabilities["tool_choice"].value == []


def test_the_format_counts_the_turns_that_agree() -> None:
    """Two of three turns used the wire format, and their attempts are the evidence."""
    attempts = attempts_with_facts("format", formats=[["openai"], ["openai"], ["hermes"]])

    assert field("tool_call_format", attempts) == Capability(
        "openai", 3, 2, ("format/1", "format/2")
    )


def schema(
    types: bool | None = True,
    nested: bool | None = True,
    union: bool | None = True,
    simplified: bool | None = True,
    echo: FindingKind | None = None,
) -> Capability:
    findings = () if echo is None else (echo,)
    attempts = [
        attempt("format", formats=["openai"], findings=findings),
        attempt("schema_types", fits=types),
        attempt("schema_nested", fits=nested, simplified=simplified),
        attempt("schema_union", fits=union),
    ]
    return field("schema_level", attempts)


@pytest.mark.parametrize(
    ("facts", "value"),
    [
        ({}, "strict_json_schema"),
        ({"union": None}, "strict_json_schema"),
        ({"nested": False}, "simple_object"),
        ({"union": False}, "simple_object"),
        ({"nested": False, "union": False}, "simple_object"),
        ({"nested": None}, "simple_object"),
        ({"nested": None, "simplified": None}, "unknown"),
        ({"types": False}, "string_only"),
        ({"types": False, "echo": FindingKind.WRONG_VALUE}, "string_only"),
        ({"types": False, "echo": FindingKind.SCHEMA_MISMATCH}, "none"),
        ({"types": False, "echo": FindingKind.UNKNOWN_TOOL}, "none"),
        ({"types": None}, "unknown"),
        ({"types": None, "nested": None, "union": None, "simplified": None}, "unknown"),
    ],
)
def test_the_schema_level_is_what_arguments_followed(facts: dict[str, Any], value: str) -> None:
    """Full schemas, flat schemas, strings only, none, or unknown without evidence."""
    assert schema(**facts).value == value


def test_the_schema_level_counts_every_probe_it_uses() -> None:
    """Its evidence is the attempts of all of them."""
    assert schema() == Capability(
        "strict_json_schema", 3, 3, ("schema_types/1", "schema_nested/1", "schema_union/1")
    )


def test_most_trials_decide_and_a_tie_is_no() -> None:
    """A capability needs more trials that show it than trials that do not."""
    two = attempts_with_facts("parallel_mixed", calls=[2, 1])
    three = attempts_with_facts("parallel_mixed", calls=[2, 1, 3])

    assert field("supports_parallel_tool_use", two) == Capability(
        False, 2, 1, ("parallel_mixed/2",)
    )
    assert field("supports_parallel_tool_use", three) == Capability(
        True, 3, 2, ("parallel_mixed/1", "parallel_mixed/3")
    )


@pytest.mark.parametrize(("streams", "value"), [([True], True), ([False], False), ([None], None)])
def test_streaming_is_supported_where_streams_agree(
    streams: list[bool | None], value: bool | None
) -> None:
    """Without a comparison the field is unknown."""
    capability = field(
        "supports_streaming_tool_use", attempts_with_facts("streaming", streams=streams)
    )

    assert capability.value is value


@pytest.mark.parametrize(
    ("tries", "value", "agree"),
    [
        ([1] * 5, "reliable", 5),
        ([1, 1, 1, 1, 2], "reliable", 4),
        ([1, 1, 1, 1, None], "reliable", 4),
        ([1, 1, 1, 2, 2], "limited", 5),
        ([2, None, None], "limited", 1),
        ([None, None], "none", 2),
    ],
)
def test_repair_is_reliable_limited_or_none(
    tries: list[int | None], value: str, agree: int
) -> None:
    """Four of five corrected at the first try is reliable; any correction is limited."""
    capability = field("error_repair", attempts_with_facts("error_repair", tries=tries))

    assert (capability.value, capability.trials, capability.agree) == (value, len(tries), agree)


TAKEN = {
    "reasoned": True,
    "guess": "taken",
    "kept": "taken",
    "dropped": "taken",
    "blanked": "taken",
    "next_kept": "taken",
    "next_dropped": "taken",
}


@pytest.mark.parametrize(
    ("facts", "value"),
    [
        ({"reasoned": False}, "none"),
        (TAKEN, "tolerated"),
        ({**TAKEN, "blanked": "replay_missing"}, "tolerated"),
        ({**TAKEN, "dropped": "replay_missing"}, "required_same_turn"),
        (
            {**TAKEN, "dropped": "replay_missing", "next_dropped": "replay_missing"},
            "required_all_turns",
        ),
        ({**TAKEN, "next_dropped": "replay_missing"}, "required_all_turns"),
        (
            {**TAKEN, "next_dropped": "provider_error", "next_kept": "provider_error"},
            "tolerated",
        ),
        ({**TAKEN, "kept": "param_unknown"}, "rejected"),
        ({**TAKEN, "kept": "provider_error", "dropped": "provider_error"}, "unknown"),
    ],
)
def test_the_branches_prove_the_rule_of_replay(facts: dict[str, Any], value: str) -> None:
    """Required if dropping is refused, in the same or also later turns; rejected if keeping is."""
    assert field("reasoning_replay", [attempt("reasoning_replay", replay=facts)]).value == value


def test_the_most_common_rule_of_replay_holds() -> None:
    """Two trials against one decide, and are the evidence."""
    required = {**TAKEN, "dropped": "replay_missing"}
    attempts = attempts_with_facts("reasoning_replay", replay=[required, TAKEN, required])

    assert field("reasoning_replay", attempts) == Capability(
        "required_same_turn", 3, 2, ("reasoning_replay/1", "reasoning_replay/3")
    )


@pytest.mark.parametrize(
    ("choices", "value"),
    [
        ([dict.fromkeys(CHOICES, "works")], list(CHOICES)),
        ([{"auto": "works", "none": "refused", "required": "ignored"}], ["auto"]),
        ([dict.fromkeys(CHOICES, "refused")], []),
        ([{"auto": "works"}, {"auto": "ignored"}], []),
        ([{"none": "works"}, {"none": "ignored"}, {"none": "works"}], ["none"]),
    ],
)
def test_choices_that_work_are_listed(choices: list[dict[str, str]], value: list[str]) -> None:
    """A choice that is refused, ignored, not carried or works half the time does not work."""
    assert field("tool_choice", attempts_with_facts("tool_choice", choices=choices)).value == value


@pytest.mark.parametrize(
    ("name", "probe", "fact", "values", "value"),
    [
        ("parallel_switch", "parallel_off", "off", ["obeyed", "ignored", "obeyed"], "obeyed"),
        ("accepts", "parameters", "accepts", [{"strict": True}], {"strict": True}),
        ("id_forms", "foreign_ids", "ids", [{"long": False}], {"long": False}),
        ("trimmed_history", "closure", "trimmed", ["taken"], "taken"),
        ("violations", "closure", "violations", [{"missing": "taken"}], {"missing": "taken"}),
    ],
)
def test_further_fields_are_the_most_common_answer(
    name: str, probe: str, fact: str, values: list[Any], value: object
) -> None:
    """Each comes from its own probe, and is unknown without it."""
    capability = field(name, attempts_with_facts(probe, **{fact: values}))

    assert (capability.value, capability.trials) == (value, len(values))
    assert field(name, [attempt(probe)]).value == "unknown"


def test_a_capability_has_an_interval_in_json() -> None:
    """Value, trials, number that agree, interval and evidence."""
    body = Capability(True, 4, 3, ("streaming/1",)).as_json()

    assert (body["low"], body["high"]) == rate_interval(3, 4)
    assert (body["value"], body["trials"], body["agree"]) == (True, 4, 3)
    assert body["evidence"] == ["streaming/1"]


def test_without_trials_there_is_no_interval() -> None:
    """The bounds of an unknown capability are null."""
    body = Capability("unknown").as_json()

    assert (body["low"], body["high"], body["trials"]) == (None, None, 0)


def test_calls_in_the_text_format_of_an_endpoint_went_well() -> None:
    """A leak is bad unless the endpoint always calls that way; the leak stays counted."""
    leaked = Verdict(Metric.PARSE_SUCCESS, good=False, parser="hermes")
    other = Verdict(Metric.PARSE_SUCCESS, good=False, parser="pythonic")
    prose = Verdict(Metric.PARSE_SUCCESS, good=False)
    leak = Verdict(Metric.LEAK, good=False)
    attempts = [attempt("format", verdicts=[leaked, other, prose, leak])]

    assert [v.good for v in settle_verdicts(attempts, None)] == [False] * 4
    assert [v.good for v in settle_verdicts(attempts, "hermes")] == [True, False, False, False]
