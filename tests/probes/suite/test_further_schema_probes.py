from __future__ import annotations

import random

import pytest

from probes.messages import JSON
from probes.outcomes import FindingKind
from probes.suite.base import DrawnValues
from probes.suite.further_schema_probes import (
    LONG_ARGUMENT,
    LONG_BYTES,
    SCHEMA_ENUM_NESTED,
    SCHEMA_REF,
)
from tests.probes.suite.script_player import call, calls, play, prose, refusal

INNER: dict[str, JSON] = {"value": 7, "unit": "kelvin", "level": "low"}
READING: dict[str, JSON] = {"sensor": "amber-1", "reading": INNER}
ROUTE: dict[str, JSON] = {
    "start": {"code": "AB-1234", "hour": 3},
    "end": {"code": "XY-9876", "hour": 22},
}


def reading(**changes: JSON) -> dict[str, JSON]:
    return {**READING, "reading": {**INNER, **changes}}


def test_a_nested_enum_value_as_listed_passes() -> None:
    """The wanted value arrives inside its object."""
    played = play(SCHEMA_ENUM_NESTED, DrawnValues(READING), calls(call("probe_reading", READING)))

    assert (played.outcome, played.facts["fits"]) == ("pass", True)
    assert played.trials["schema_failure"] == [True]


@pytest.mark.parametrize(
    ("arguments", "kind", "path"),
    [
        (reading(unit="fahrenheit"), "schema_mismatch", "$.calls[0].input.reading.unit"),
        (reading(unit="celsius"), "wrong_value", "$.calls[0].input.reading"),
        ({**READING, "reading": "{}"}, "schema_mismatch", "$.calls[0].input.reading"),
    ],
)
def test_a_nested_enum_value_that_is_unlisted_or_another_fails(
    arguments: dict[str, JSON], kind: str, path: str
) -> None:
    """An unlisted value breaks the schema; another listed one is a wrong value."""
    played = play(SCHEMA_ENUM_NESTED, DrawnValues(READING), calls(call("probe_reading", arguments)))

    assert (played.outcome, played.kinds) == ("fail", [kind])
    assert played.facts["fits"] is (kind == "wrong_value")
    assert played.judged.findings[0].path == path
    assert played.trials["schema_failure"] == [kind != "schema_mismatch"]


def test_objects_under_a_reference_pass() -> None:
    """Both arguments follow the same definition."""
    played = play(SCHEMA_REF, DrawnValues(ROUTE), calls(call("probe_route", ROUTE)))

    assert (played.outcome, played.facts["ref"]) == ("pass", "works")
    (tool,) = played.call("asked").tools
    assert "$ref" in str(tool.schema)
    assert "pattern" in str(tool.schema)


@pytest.mark.parametrize(
    ("end", "kind"),
    [
        ({"code": "xy-9876", "hour": 22}, "schema_mismatch"),
        ({"code": "XY-9876", "hour": "22"}, "schema_mismatch"),
        ("XY-9876", "schema_mismatch"),
        ({"code": "XY-9877", "hour": 22}, "wrong_value"),
    ],
)
def test_a_broken_pattern_or_reference_fails(end: JSON, kind: str) -> None:
    """The definition holds wherever it is referred to."""
    played = play(SCHEMA_REF, DrawnValues(ROUTE), calls(call("probe_route", {**ROUTE, "end": end})))

    ref = "works" if kind == "wrong_value" else "broken"
    assert (played.outcome, played.facts["ref"]) == ("fail", ref)
    assert set(played.kinds) == {kind}


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (FindingKind.SCHEMA_REFUSED, "Invalid schema for function 'probe_route'."),
        (FindingKind.PROVIDER_ERROR, 'Unknown name "$ref": Cannot find field.'),
    ],
)
def test_a_refused_reference_is_noted_and_counts_in_no_metric(
    kind: FindingKind, message: str
) -> None:
    """It is a limit of the endpoint, whatever its words, and says nothing about its streams."""
    played = play(SCHEMA_REF, DrawnValues(ROUTE), refusal(kind, message))

    assert (played.outcome, played.facts["ref"]) == ("fail", "refused")
    assert (played.kinds, played.trials, played.facts["turns"]) == (["schema_refused"], {}, {})


def test_without_a_call_nothing_is_known_about_references() -> None:
    """Prose, and a refusal for another reason."""
    spoken = play(SCHEMA_REF, DrawnValues(ROUTE), prose())
    refused = play(SCHEMA_REF, DrawnValues(ROUTE), refusal(FindingKind.PROVIDER_ERROR))

    assert (spoken.outcome, spoken.kinds, spoken.facts["ref"]) == ("fail", ["no_call"], None)
    assert (refused.outcome, "ref" in refused.facts) == ("void", False)


def test_a_long_argument_is_long_and_full_of_what_breaks() -> None:
    """Lines, quotes, back slashes, tabs and characters beyond ASCII, at least 4 KB of them."""
    text = str(LONG_ARGUMENT.draw(random.Random(1)).values["message"])

    assert LONG_BYTES <= len(text.encode()) < LONG_BYTES + 200
    assert all(character in text for character in "\n\"\\\t☕🦊'<")


def test_a_long_argument_that_arrives_whole_passes() -> None:
    """Character for character."""
    drawn = LONG_ARGUMENT.draw(random.Random(2))

    played = play(LONG_ARGUMENT, drawn, calls(call("probe_echo", drawn.values)))

    assert (played.outcome, played.kinds) == ("pass", [])


def test_a_long_argument_that_is_cut_or_changed_fails_where_it_differs() -> None:
    """The finding names the place instead of both texts."""
    drawn = LONG_ARGUMENT.draw(random.Random(3))
    text = str(drawn.values["message"])
    cut = {**drawn.values, "message": text[:3000]}

    played = play(LONG_ARGUMENT, drawn, calls(call("probe_echo", cut)))

    (finding,) = played.judged.findings
    assert (played.outcome, str(finding.kind)) == ("fail", "wrong_value")
    expected = f"message differs from character 3001 on (3000 characters instead of {len(text)})"
    assert finding.message.startswith(expected)
    assert len(finding.message) < 400
