from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.call_arguments import MAX_BYTES, Arguments, read_arguments, validate_arguments
from probes.findings import Finding, FindingKind
from probes.messages import JSON

SCHEMA: dict[str, JSON] = {
    "type": "object",
    "properties": {"a": {"type": "array", "items": {"type": "integer"}}},
    "required": ["a"],
    "additionalProperties": False,
}
JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def test_empty_arguments_are_an_empty_object() -> None:
    """Vendors send an empty string for a tool without parameters."""
    assert read_arguments("") == Arguments({})


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('{"a": 1', "Not valid JSON"),
        ('{"a": NaN}', "NaN"),
        ('{"a": -Infinity}', "Infinity"),
        ('{"a": 1e999999}', "out of range"),
        ('{"a": ' + "9" * 5000 + "}", "too many digits"),
        ("[1]", "an array, not an object"),
        ("null", "null, not an object"),
        ('"{}"', "a string, not an object"),
        ("{'a': 1}", "Not valid JSON"),
        ('{"a": 1} trailing', "Not valid JSON"),
        ('{"a":' * 65 + "1" + "}" * 65, "deeper than 64"),
        ("[" * 900_000, "deeper than 64"),
        ('{"a": "' + "x" * MAX_BYTES + '"}', "larger than"),
    ],
)
def test_arguments_that_are_not_a_json_object_say_why(text: str, error: str) -> None:
    """Invalid arguments give a sentence, never an exception."""
    arguments = read_arguments(text)

    assert arguments.value is None
    assert error in arguments.error


def test_brackets_inside_strings_are_not_depth() -> None:
    """Only structure counts towards the depth limit."""
    value = {"a": '[{"' * 500 + "\\"}

    assert read_arguments(json.dumps(value)).value == value


def test_duplicate_keys_are_reported_with_the_last_value() -> None:
    """A duplicate key is readable but reported."""
    arguments = read_arguments('{"a": 1, "b": {"c": 1, "c": 2}, "a": 3}')

    assert arguments == Arguments({"a": 3, "b": {"c": 2}}, duplicate_keys=("c", "a"))


@given(st.text() | st.text(alphabet='{}[]",:\\0eE-+ntrufalse\ud800\0'))
def test_no_text_makes_reading_raise(text: str) -> None:
    """Any text gives either an object or a reason."""
    arguments = read_arguments(text)

    assert (arguments.value is None) == bool(arguments.error)


@given(st.dictionaries(st.text(), JSON_VALUES, max_size=4))
def test_what_json_writes_is_read_back(value: dict[str, object]) -> None:
    """Strictness never refuses a valid object."""
    assert read_arguments(json.dumps(value)).value == value


@given(st.dictionaries(st.text() | st.just("a") | st.just("\ud800"), JSON_VALUES, max_size=3))
def test_no_arguments_make_validation_raise(value: dict[str, object]) -> None:
    """Whatever was parsed can be validated, lone surrogates and huge numbers included."""
    text = json.dumps(value)
    arguments = read_arguments(text)
    assert arguments.value is not None

    for finding in validate_arguments(SCHEMA, arguments.value):
        assert finding.kind is FindingKind.SCHEMA_MISMATCH


def test_schema_findings_carry_the_path() -> None:
    """Each violation says where it is."""
    findings = validate_arguments(SCHEMA, {"a": [1, "x"]}, at="$.calls[0].input")

    message = '"x" is not of type "integer".'
    expected = Finding(FindingKind.SCHEMA_MISMATCH, message, "$.calls[0].input.a[1]")
    assert findings == (expected,)


def test_valid_arguments_have_no_findings() -> None:
    """A valid call has no findings."""
    assert validate_arguments(SCHEMA, {"a": [1, 2]}) == ()


def test_a_schema_never_fetches_anything() -> None:
    """A remote reference is refused, not fetched."""
    with pytest.raises(ValueError, match="Retrieval is disabled"):
        validate_arguments({"$ref": "http://example.test/schema.json"}, {})
