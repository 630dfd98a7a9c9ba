"""The capability profile, field by field, from hand-made attempts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from health.capabilities import (
    CHOICES,
    MIN_TURNS,
    derive_capabilities,
    leaves_schema_level,
    settle_verdicts,
)
from health.capability import Capability
from health.parallel import confirms
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
    values = {"parser", "tool_choice", "deviations", "output_limit_cap", "parallel_calls"}
    assert empty == values | switches
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
        (["openai"] * 4 + ["hermes"], "openai", None),
        (["openai"] * 3 + ["hermes"], "unsettled", None),
        (["openai"] * 4 + ["unknown"], "openai", None),
        (["openai"] * 3 + ["unknown"], "unsettled", None),
        (["openai", None, None], "openai", None),
        (["hermes"] * 3, "json_text", "hermes"),
        (["hermes"] * 4 + ["qwen3_coder"], "json_text", "hermes"),
        (["hermes", "qwen3_coder", "hermes"], "unsettled", None),
        (["hermes"] * 4 + ["openai"], "json_text", "hermes"),
        (["unknown"] * MIN_TURNS, "none", None),
        (["qwen3_coder"] * 2, "xml", "qwen3_coder"),
        (["hermes", None, None], "json_text", "hermes"),
        ([None] * MIN_TURNS, "none", None),
        ([None] * (MIN_TURNS - 1), "unknown", None),
    ],
)
def test_the_format_is_the_wire_or_the_text_that_calls_come_in(
    formats: list[str | None], value: str, parser: str | None
) -> None:
    """At least 80 % of the turns that show a call have it in one format; others do not count."""
    attempts = [attempt("format", n, formats=[form]) for n, form in enumerate(formats, 1)]

    assert field("tool_call_format", attempts).value == value
    assert field("parser", attempts).value == parser
    for name in ("tool_call_format", "parser"):
        assert field(name, attempts).unsettled is (value == "unsettled")


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
    """Four of five turns used the wire format; both formats are counted, for the parser too."""
    formats = [["openai"], ["openai"], ["hermes"], ["openai"], ["openai"]]
    attempts = attempts_with_facts("format", formats=formats)
    evidence = ("format/1", "format/2", "format/4", "format/5")
    counts = {"openai": 4, "hermes": 1}

    expected = Capability("openai", 5, 4, evidence, counts)
    assert field("tool_call_format", attempts) == expected
    assert field("parser", attempts) == Capability(None, 5, 4, evidence, counts)


def test_a_stream_that_leaks_does_not_change_the_format_of_whole_answers() -> None:
    """Callers are told to fetch tool turns whole, and those come on the wire."""
    whole = [
        attempt("format", n, formats=["openai"], turns={"whole": ["works"]}) for n in range(1, 6)
    ]
    streamed = [
        attempt("format", n, formats=["hermes"], turns={"streamed": ["hermes"]}, streamed=True)
        for n in range(6, 11)
    ]

    assert field("streaming", whole + streamed).value == "leaks"
    assert field("tool_call_format", whole + streamed).value == "openai"


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


def test_a_schema_level_that_was_not_measured_has_no_trials() -> None:
    """So that a run without it leaves the level of an earlier one."""
    assert schema(nested=None, simplified=None) == Capability("unknown")


@pytest.mark.parametrize(
    ("before", "now", "stays"),
    [
        # Only a union, an inner choice or a reference ruled full schemas out.
        ({"union": False}, {"union": None}, True),
        ({"union": False}, {"union": True}, False),
        ({"union": False}, {"nested": False, "union": None}, False),
        ({"union": False}, {"types": False, "union": None}, False),
        # Nested objects did not work, and a light run asks for them.
        ({"nested": False}, {"union": None}, False),
        ({"nested": False, "union": False}, {"union": None}, False),
        ({}, {"union": None}, False),
    ],
)
def test_a_run_without_unions_does_not_raise_a_level_that_they_lowered(
    before: dict[str, Any], now: dict[str, Any], stays: bool
) -> None:
    """A light run asks for nested objects alone."""
    assert leaves_schema_level(schema(**before).as_json(), schema(**now)) is stays


def test_the_schema_level_counts_every_probe_it_uses() -> None:
    """Its evidence is the attempts of all of them."""
    assert schema() == Capability(
        "strict_json_schema", 3, 3, ("schema_types/1", "schema_nested/1", "schema_union/1")
    )


@pytest.mark.parametrize(
    ("fits", "value", "counts"),
    [
        ([True] * 3, "strict_json_schema", {}),
        ([True, True, False], "unsettled", {"fits": 8, "does_not_fit": 1}),
        ([False] * 3, "simple_object", {}),
    ],
)
def test_a_schema_that_fits_at_times_is_unsettled(
    fits: list[bool], value: str, counts: dict[str, int]
) -> None:
    """One of three trials that differs is no clear majority."""
    capability = field(
        "schema_level",
        [
            *attempts_with_facts("schema_types", fits=[True] * 3),
            *attempts_with_facts("schema_nested", fits=fits, simplified=[True] * 3),
            *attempts_with_facts("schema_union", fits=[True] * 3),
        ],
    )

    assert (capability.value, capability.counts) == (value, counts)
    assert capability.unsettled is (value == "unsettled")


def test_a_union_that_fits_at_times_matters_only_beside_nested_objects() -> None:
    """Where nested objects never fit, full schemas are ruled out anyway."""
    attempts = [
        attempt("schema_types", fits=True),
        attempt("schema_nested", fits=False, simplified=True),
        *attempts_with_facts("schema_union", fits=[True, False]),
    ]

    assert field("schema_level", attempts).value == "simple_object"


def parallel(
    same: list[bool], mixed: list[bool], more: dict[int, list[bool]] | None = None
) -> dict[str, Capability]:
    """Two calls of one tool and of two, and questions with more calls."""
    attempts = [
        attempt(name, n, calls=2, asked=2, same_tool=is_same, distinct_ids=True, right=right)
        for name, is_same, rights in (
            ("parallel_same", True, same),
            ("parallel_mixed", False, mixed),
        )
        for n, right in enumerate(rights, 1)
    ]
    attempts += [
        attempt(f"parallel_{asked}", n, calls=asked, asked=asked, same_tool=False, right=right)
        for asked, rights in (more or {}).items()
        for n, right in enumerate(rights, 1)
    ]
    return derive_capabilities(attempts, "openai")


@pytest.mark.parametrize(
    ("same", "mixed", "value", "supported", "most"),
    [
        ([True] * 3, [True] * 3, "any", True, 2),
        ([True] * 3, [False] * 3, "same_tool", None, 1),
        ([False] * 3, [True] * 3, "mixed", None, 1),
        ([], [True], "mixed", True, 2),
        ([False] * 3, [False] * 3, "none", False, 1),
        ([True] * 3, [True, True, False], "unsettled", None, 1),
        ([True] * 10, [True] * 9 + [False], "any", True, 2),
        ([], [], "unknown", None, None),
    ],
)
def test_parallel_says_which_calls_come_in_one_turn(
    same: list[bool], mixed: list[bool], value: str, supported: bool | None, most: int | None
) -> None:
    """A kind of pair counts if it is right in a clear majority of its trials."""
    capabilities = parallel(same, mixed)

    support = capabilities["supports_parallel_tool_use"]
    assert capabilities["parallel"].value == value
    assert support.value is supported
    assert support.unsettled is (supported is None and bool(same or mixed))
    assert capabilities["parallel_calls"].value == most


@pytest.mark.parametrize(
    ("more", "most"),
    [
        ({3: [True, True], 5: [True]}, 5),
        ({3: [True, True], 5: [True, False]}, 3),
        ({3: [False], 5: [True]}, 2),
    ],
)
def test_the_largest_number_of_calls_is_one_that_every_smaller_question_confirms(
    more: dict[int, list[bool]], most: int
) -> None:
    """More calls than that do not arrive reliably; two still work."""
    capabilities = parallel([True] * 2, [True] * 2, more)

    assert capabilities["parallel_calls"].value == most
    assert capabilities["parallel"].value == "any"
    assert capabilities["supports_parallel_tool_use"].value is True


def test_calls_under_one_id_are_not_parallel() -> None:
    """Their results cannot be told apart."""
    facts: dict[str, Any] = {"calls": 2, "asked": 2, "distinct_ids": False, "right": True}

    capabilities = derive_capabilities([attempt("parallel_mixed", **facts)], "openai")

    assert capabilities["supports_parallel_tool_use"].value is False
    assert capabilities["parallel"].value == "none"


@pytest.mark.parametrize(
    ("stored", "same", "mixed", "kept"),
    [
        (([True], [True]), [], [True], True),
        (([True], [True]), [], [False], False),
        (([True], [True]), [True], [True], False),
        (([True], [False]), [], [True], False),
    ],
)
def test_a_run_that_asks_less_confirms_what_a_fuller_one_measured(
    stored: tuple[list[bool], list[bool]], same: list[bool], mixed: list[bool], kept: bool
) -> None:
    """Unless it contradicts it, or asks for as much."""
    before, now = parallel(*stored)["parallel"], parallel(same, mixed)["parallel"]

    assert confirms(before.as_json(), now) is kept


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


@pytest.mark.parametrize(
    "later", [{}, {"next_kept": "closure_order", "next_dropped": "closure_order"}]
)
def test_without_a_later_turn_the_rule_of_replay_is_open(later: dict[str, str]) -> None:
    """No trial, so that what an earlier run measured stays; a refused turn is none either."""
    facts = {k: v for k, v in TAKEN.items() if not k.startswith("next")} | later
    seen = attempt("reasoning_replay", replay={**facts, "dropped": "replay_missing"})
    capability = field("reasoning_replay", [seen])

    assert (capability.value, capability.trials) == ("unknown", 0)


REQUIRED = {**TAKEN, "dropped": "replay_missing"}


def test_rules_of_replay_that_differ_are_unsettled() -> None:
    """Both are counted, and all trials are the evidence."""
    attempts = attempts_with_facts("reasoning_replay", replay=[REQUIRED, TAKEN, REQUIRED])

    assert field("reasoning_replay", attempts) == Capability(
        "unsettled",
        3,
        2,
        ("reasoning_replay/1", "reasoning_replay/2", "reasoning_replay/3"),
        {"required_same_turn": 2, "tolerated": 1},
        unsettled=True,
    )


@pytest.mark.parametrize(
    "less",
    [
        {"reasoned": False},
        {"reasoned": True, "kept": "provider_error", "dropped": "provider_error"},
        {"reasoned": True, "kept": "taken", "dropped": "taken"},
    ],
)
def test_a_trial_that_saw_less_does_not_contradict_one_that_saw_more(less: dict[str, Any]) -> None:
    """Without reasoning, without an answer, or without a later turn."""
    attempts = attempts_with_facts("reasoning_replay", replay=[less, REQUIRED])

    capability = field("reasoning_replay", attempts)
    assert (capability.value, capability.trials) == ("required_same_turn", 1)


@pytest.mark.parametrize(
    ("choices", "value"),
    [
        ([dict.fromkeys(CHOICES, "works")], list(CHOICES)),
        ([{"auto": "works", "none": "refused", "required": "ignored"}], ["auto"]),
        ([dict.fromkeys(CHOICES, "refused")], []),
        ([{"auto": "works"}, {"auto": "ignored"}], []),
        ([{"none": "works"}, {"none": "ignored"}, {"none": "works"}], []),
    ],
)
def test_choices_that_work_are_listed(choices: list[dict[str, str]], value: list[str]) -> None:
    """A choice that is refused, ignored, not carried or works at times is not listed."""
    assert field("tool_choice", attempts_with_facts("tool_choice", choices=choices)).value == value


def test_a_choice_that_works_at_times_is_unsettled() -> None:
    """The counts are those of the choice alone."""
    choices = [{"auto": "works", "none": "works"}, {"auto": "works", "none": "ignored"}]
    capability = field("tool_choice", attempts_with_facts("tool_choice", choices=choices))

    assert (capability.value, capability.unsettled) == (["auto"], True)
    assert capability.counts == {"none": {"true": 1, "false": 1}}


@pytest.mark.parametrize(
    ("name", "probe", "fact", "values", "value"),
    [
        ("parallel_switch", "parallel_off", "off", ["obeyed", "ignored", "obeyed"], "unsettled"),
        ("parallel_switch", "parallel_off", "off", ["obeyed", "obeyed"], "obeyed"),
        (
            "accepts",
            "parameters",
            "accepts",
            [{"strict": True}, {"strict": False}],
            {"strict": None},
        ),
        (
            "violations",
            "closure",
            "violations",
            [{"missing": "taken", "orphan": "taken"}, {"missing": "taken", "orphan": "no"}],
            {"missing": "taken", "orphan": "unsettled"},
        ),
        ("accepts", "parameters", "accepts", [{"strict": True}], {"strict": True}),
        ("id_forms", "foreign_ids", "ids", [{"long": False}], {"long": False}),
        ("trimmed_history", "closure", "trimmed", ["taken"], "taken"),
        ("violations", "closure", "violations", [{"missing": "taken"}], {"missing": "taken"}),
    ],
)
def test_further_fields_are_the_answer_of_a_clear_majority(
    name: str, probe: str, fact: str, values: list[Any], value: object
) -> None:
    """Each comes from its own probe, and is unknown without it."""
    capability = field(name, attempts_with_facts(probe, **{fact: values}))

    assert (capability.value, capability.trials) == (value, len(values))
    assert field(name, [attempt(probe)]).value == "unknown"


@pytest.mark.parametrize(
    ("name", "probe", "fact", "values", "value"),
    [
        ("system_position", "late_system", "system_position", ["anywhere"] * 2, "anywhere"),
        ("system_position", "late_system", "system_position", ["anywhere", "ignored"], "unsettled"),
        ("system_position", "late_system", "system_position", ["ignored", None], "ignored"),
        ("prompted_tools", "prompted_tools", "prompted", ["hermes"] * 9 + ["none"], "hermes"),
        ("prompted_tools", "prompted_tools", "prompted", ["hermes"] * 8 + ["none"], "unsettled"),
        ("prompted_tools", "prompted_tools", "prompted", ["none"], "none"),
        ("result_role", "round_trip", "result_role", ["tool"] * 9 + ["user_text"], "tool"),
        ("result_role", "round_trip", "result_role", ["tool", "user_text"], "unsettled"),
        ("result_role", "round_trip", "result_role", ["user_text"] * 3, "user_text"),
        ("image_result", "image_result", "image_result", ["refused", "refused"], "refused"),
        ("image_result", "image_result", "image_result", ["used", None], "used"),
        ("image_result", "image_result", "image_result", ["used", "refused"], "unsettled"),
    ],
)
def test_prompt_limits_need_a_clear_majority(
    name: str, probe: str, fact: str, values: list[Any], value: str
) -> None:
    """Below nine in ten the field is unsettled, with the number of trials per value."""
    capability = field(name, attempts_with_facts(probe, **{fact: values}))

    assert capability.value == value
    assert capability.unsettled is (value == "unsettled")
    seen = {each: values.count(each) for each in values if each is not None}
    assert capability.counts == (seen if len(seen) > 1 else {})
    assert field(name, [attempt(probe)]).value == "unknown"


def test_a_void_attempt_claims_no_prompt_limit() -> None:
    """Its facts are from a script that did not end."""
    attempts = [attempt("late_system", outcome=Outcome.VOID, system_position="ignored")]

    assert field("system_position", attempts).value == "unknown"


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


def turns(probe: str, trial: int, whole: list[str], streamed: list[str]) -> Attempt:
    sides = {"whole": whole, "streamed": streamed}
    return attempt(probe, trial, turns={side: seen for side, seen in sides.items() if seen})


@pytest.mark.parametrize(
    ("streamed", "value", "supported"),
    [
        (["works"] * 20, "works", True),
        (["works"] * 19 + ["broken_off"], "works", True),
        (["works"] * 16 + ["broken_off"] * 4, "unsettled", None),
        (["hermes"] * 20, "leaks", False),
        (["leaks"] * 10 + ["works"] * 10, "unsettled", None),
        (["broken_off"] * 20, "loses_calls", False),
        (["loses_calls"] * 20, "loses_calls", False),
        (["garbles"] * 20, "garbles", False),
        (["refused"] * 20, "refused", False),
        ([], "unknown", None),
    ],
)
def test_streaming_needs_a_clear_majority(
    streamed: list[str], value: str, supported: bool | None
) -> None:
    """Nine of ten streamed turns must agree, beside whole turns that work."""
    attempts = [turns("format", 1, ["works"] * 20, streamed)]

    assert field("streaming", attempts).value == value
    assert field("supports_streaming_tool_use", attempts).value is supported


def test_an_unsettled_field_has_both_counts() -> None:
    """The number of turns per value, and the turns that work."""
    streamed = ["works"] * 4 + ["broken_off"]
    capability = field("streaming", [turns("format", 1, ["works"] * 5, streamed)])

    assert (capability.trials, capability.agree) == (5, 4)
    assert capability.as_json()["counts"] == {"works": 4, "loses_calls": 1}


@pytest.mark.parametrize(
    ("whole", "streamed", "value"),
    [
        (["works"] * 8 + ["garbles"] * 2, ["works"] * 8 + ["garbles"] * 2, "works"),
        (["loses_calls"] * 10, ["loses_calls"] * 10, "unknown"),
        (["hermes"] * 10, ["hermes"] * 10, "works"),
    ],
)
def test_faults_of_whole_turns_are_not_the_streams(
    whole: list[str], streamed: list[str], value: str
) -> None:
    """A weak model, no calls at all, or calls that always come in one text format."""
    attempts = [turns("format", 1, whole, streamed)]
    attempts[0].facts["formats"] = ["hermes" if "hermes" in whole else "openai"]  # type: ignore[index]

    assert field("streaming", attempts).value == value


@pytest.mark.parametrize(
    ("formats", "value"),
    [(["openai", "openai"], "works"), (["dsml", "dsml"], "unknown"), (["hermes"] * 2, "unknown")],
)
def test_streams_that_leak_as_whole_answers_do_are_not_said_to_work(
    formats: list[str], value: str
) -> None:
    """A call that is lost both ways on the wire is the model's; one in the text is a leak."""
    pair = turns("streaming", 1, ["loses_calls"], ["loses_calls"])
    others = attempt("format", 1, formats=["openai"], turns={"whole": ["works"]})
    attempts = [replace(pair, facts={**pair.facts, "streams": True, "formats": formats}), others]

    assert field("streaming", attempts).value == value


def test_a_garbled_stream_counts_only_beside_a_whole_turn_that_works() -> None:
    """An endpoint that cannot nest objects is not one that cannot stream."""
    attempts = [
        turns("format", 1, ["works"], ["works"]),
        turns("schema_nested", 1, [], ["garbles"]),
    ]

    assert field("streaming", attempts).value == "works"
