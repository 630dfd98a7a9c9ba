from __future__ import annotations

import json
import random
from collections.abc import Mapping
from typing import Any

import pytest

from probes.call_arguments import validate_arguments
from probes.messages import JSON, Reply, Text
from probes.outcomes import FindingKind
from probes.suite.base import DrawnValues, Probe
from probes.suite.probe_tools import PROBE_ORDER, PROBE_ORDER_LINE
from probes.suite.schema_probes import (
    HOSTILE,
    HOSTILE_TEXT,
    NO_ARGUMENTS,
    SCHEMA_NESTED,
    SCHEMA_TYPES,
    SCHEMA_UNION,
    SchemaProbe,
)
from tests.probes.suite.script_player import (
    OPENAI,
    Played,
    ScriptedAnswer,
    by_label,
    call,
    calls,
    play,
    play_by_question,
    prose,
    refusal,
)

SETTINGS: dict[str, JSON] = {
    "count": 7,
    "ratio": 0.25,
    "enabled": True,
    "level": "low",
    "note": None,
}
BODY = json.dumps({"name": "probe_settings", "arguments": SETTINGS})
LEAKED = f"<tool_call>{BODY}</tool_call>"
STORED: dict[str, JSON] = {"key": "amber-1", "value": ["a", "b"]}
FLAT = (SCHEMA_TYPES, SCHEMA_UNION, NO_ARGUMENTS, HOSTILE_TEXT)


@pytest.mark.parametrize("probe", FLAT, ids=lambda probe: probe.name)
def test_the_drawn_arguments_pass_and_fit_their_schema(probe: SchemaProbe) -> None:
    """The drawn arguments fit the schema, and a model that returns them passes."""
    for seed in range(50):
        values = probe.draw(random.Random(seed))
        played = play(probe, values, calls(call(probe.tool.name, values.values)))

        assert validate_arguments(probe.tool.schema or {}, values.values) == ()
        assert (played.outcome, played.facts["fits"]) == ("pass", True)


@pytest.mark.parametrize(
    ("probe", "values", "arguments", "kind", "fits"),
    [
        (SCHEMA_TYPES, SETTINGS, {**SETTINGS, "count": "7"}, "schema_mismatch", False),
        (SCHEMA_TYPES, SETTINGS, {**SETTINGS, "enabled": "true"}, "schema_mismatch", False),
        (SCHEMA_TYPES, SETTINGS, {**SETTINGS, "level": "LOW"}, "schema_mismatch", False),
        (SCHEMA_TYPES, SETTINGS, {**SETTINGS, "note": "null"}, "wrong_value", False),
        (SCHEMA_TYPES, SETTINGS, {**SETTINGS, "ratio": 0.5}, "wrong_value", True),
        (SCHEMA_TYPES, SETTINGS, {**SETTINGS, "ratio": 1}, "wrong_value", True),
        (SCHEMA_UNION, STORED, {**STORED, "value": '["a", "b"]'}, "wrong_value", False),
        (SCHEMA_UNION, STORED, {**STORED, "value": ["a"]}, "wrong_value", True),
        (SCHEMA_UNION, STORED, {**STORED, "value": {"a": 1}}, "schema_mismatch", False),
        (NO_ARGUMENTS, {}, {"zone": "UTC"}, "schema_mismatch", False),
        (
            HOSTILE_TEXT,
            {"message": 'a "b"\n', "tag": "beta"},
            {"message": 'a "b"', "tag": "beta"},
            "wrong_value",
            True,
        ),
    ],
)
def test_another_type_or_value_fails_and_only_another_type_does_not_fit(
    probe: SchemaProbe, values: dict[str, Any], arguments: dict[str, Any], kind: str, fits: bool
) -> None:
    """A near miss is a failure; the schema level is about types, in a union the one asked for."""
    played = play(probe, DrawnValues(values), calls(call(probe.tool.name, arguments)))

    assert (played.outcome, played.kinds) == ("fail", [kind])
    assert played.facts["fits"] is fits


@pytest.mark.parametrize("probe", FLAT, ids=lambda probe: probe.name)
def test_without_a_call_nothing_is_said_about_the_schema(probe: SchemaProbe) -> None:
    """Prose fails the probe and proves nothing about types."""
    played = play(probe, probe.draw(random.Random(1)), prose())

    assert (played.outcome, played.kinds) == ("fail", ["no_call"])
    assert played.facts["fits"] is None


def test_a_leaked_call_with_the_right_values_fits() -> None:
    """The leak fails the probe; the types are still right."""
    played = play(SCHEMA_TYPES, DrawnValues(SETTINGS), prose(LEAKED))

    assert (played.outcome, played.kinds) == ("fail", ["leaked_call"])
    assert played.facts["fits"] is True


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (calls(call("probe_settings", SETTINGS), call("probe_settings", SETTINGS)), "extra_call"),
        (calls(Text(LEAKED), call("probe_settings", SETTINGS)), "leaked_call"),
    ],
)
def test_a_second_copy_of_the_right_call_fails_and_fits(reply: Reply, kind: str) -> None:
    """A surplus call, on the wire or in the text, says nothing about types."""
    played = play(SCHEMA_TYPES, DrawnValues(SETTINGS), reply)

    assert (played.outcome, played.kinds) == ("fail", [kind])
    assert played.facts["fits"] is True


def test_the_question_shows_the_arguments_as_json() -> None:
    """The model sees every type spelled out; a tool without arguments is described in words."""
    assert json.dumps(SETTINGS) in prompt_of(SCHEMA_TYPES, SETTINGS)
    assert "takes no arguments" in prompt_of(NO_ARGUMENTS, {})


def test_every_hostile_text_is_drawn_some_time() -> None:
    """Every entry of the list is used."""
    values = {str(HOSTILE_TEXT.draw(random.Random(seed)).values["message"]) for seed in range(200)}
    beginnings = {text.format("\0").split("\0")[0] for text in HOSTILE}

    assert all(any(start in text for text in values) for start in beginnings)


ORDER: dict[str, JSON] = {
    "customer": {"name": "amber 1", "member": True},
    "items": [{"sku": "cedar-1", "quantity": 2}, {"sku": "cedar-2", "quantity": 3}],
}
LINE: dict[str, JSON] = {"name": "amber 1", "member": True, "sku": "cedar-1", "quantity": 2}
FULL = calls(call("probe_order", ORDER))
SIMPLE = calls(call("probe_order_line", LINE))


def nested(full: ScriptedAnswer, simple: ScriptedAnswer = SIMPLE) -> Played:
    labels = {"nested schema": full, "flat schema": simple}
    return play_by_question(SCHEMA_NESTED, DrawnValues(ORDER), by_label(labels))


def test_objects_in_objects_pass_and_both_branches_are_asked_at_once() -> None:
    """The same values are requested nested and flat, each with its own tool."""
    played = nested(FULL)

    assert (played.outcome, played.rounds) == ("pass", [("nested schema", "flat schema")])
    assert (played.facts["fits"], played.facts["simplified"]) == (True, True)
    assert played.call("nested schema").tools == (PROBE_ORDER,)
    assert played.call("flat schema").tools == (PROBE_ORDER_LINE,)
    assert json.dumps(LINE) in str(played.call("flat schema").turns[0].parts[0])


@pytest.mark.parametrize(
    ("arguments", "kind", "fits"),
    [
        ({**ORDER, "customer": '{"name": "amber 1", "member": true}'}, "schema_mismatch", False),
        ({**ORDER, "items": [{"sku": "cedar-1", "quantity": 2}]}, "wrong_value", True),
        ({"customer": ORDER["customer"]}, "schema_mismatch", False),
    ],
)
def test_nested_values_that_come_otherwise_fail(
    arguments: Mapping[str, JSON], kind: str, fits: bool
) -> None:
    """Text for an object and a shorter list are detected; the flat branch is a separate fact."""
    played = nested(calls(call("probe_order", arguments)))

    assert (played.outcome, played.kinds) == ("fail", [kind])
    assert (played.facts["fits"], played.facts["simplified"]) == (fits, True)


@pytest.mark.parametrize(
    ("simple", "fact"),
    [
        (calls(call("probe_order_line", {**LINE, "quantity": "2"})), False),
        (calls(call("probe_order_line", {**LINE, "quantity": 9})), True),
        (prose(), None),
        (refusal(FindingKind.PROVIDER_ERROR), None),
    ],
)
def test_the_flat_branch_is_a_fact_and_never_the_verdict(
    simple: ScriptedAnswer, fact: bool | None
) -> None:
    """Whether simplifying helps is recorded beside the verdict on the full schema."""
    played = nested(FULL, simple)

    assert played.outcome == "pass"
    assert played.facts["simplified"] is fact


def test_a_refused_schema_does_not_fit_and_another_refusal_proves_nothing() -> None:
    """Only a refusal of the schema counts."""
    schema = nested(refusal(FindingKind.SCHEMA_REFUSED))
    other = nested(refusal(FindingKind.PROVIDER_ERROR))

    assert (schema.outcome, schema.facts["fits"]) == ("fail", False)
    assert (other.outcome, other.facts["fits"]) == ("void", None)
    assert schema.facts["simplified"] is True


def test_a_nested_question_in_prose_proves_nothing() -> None:
    """Without a call there is nothing to validate."""
    played = nested(prose())

    assert (played.kinds, played.facts["fits"]) == (["no_call"], None)


def test_drawn_orders_fit_both_schemas() -> None:
    """The flat line is the first of the order, so both branches ask for the same values."""
    for seed in range(50):
        values = SCHEMA_NESTED.draw(random.Random(seed))
        assert validate_arguments(PROBE_ORDER.schema or {}, values.values) == ()


def prompt_of(probe: Probe, values: dict[str, JSON]) -> str:
    (question,) = next(probe.script(DrawnValues(values), OPENAI))
    part = question.call.turns[0].parts[0]
    assert isinstance(part, Text)
    return part.text


def test_a_reply_of_the_wrong_tool_is_unfit() -> None:
    """A tool that was not offered does not pass."""
    reply: Reply = calls(call("probe_now", {}))

    assert play(SCHEMA_TYPES, DrawnValues(SETTINGS), reply).kinds == ["unknown_tool"]
