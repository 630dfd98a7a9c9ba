from __future__ import annotations

import pytest

from probes.call_arguments import SchemaChecker
from probes.messages import JSON
from probes.resolve.argument_shapes import fit_arguments

SCHEMA: dict[str, JSON] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "edits": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"old": {"type": "string"}, "at": {"$ref": "#/$defs/place"}},
                "required": ["old"],
            },
        },
    },
    "required": ["path"],
    "$defs": {"place": {"type": "object", "properties": {"line": {"type": "integer"}}}},
}
OPTIONAL: dict[str, JSON] = {"type": "object", "properties": {"path": {"type": "string"}}}
UNION: dict[str, JSON] = {
    "type": "object",
    "properties": {
        "content": {
            "anyOf": [
                {"type": "string"},
                {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
            ]
        }
    },
}


@pytest.mark.parametrize(
    ("value", "expected", "repairs"),
    [
        ('{"path": "a"}', {"path": "a"}, ("double_encoded",)),
        ('"{\\"path\\": \\"a\\"}"', {"path": "a"}, ("double_encoded", "double_encoded")),
        ([{"path": "a"}], {"path": "a"}, ("unwrapped_array",)),
        ({"arguments": {"path": "a"}}, {"path": "a"}, ("unwrapped_arguments",)),
        ({"input": '{"path": "a"}'}, {"path": "a"}, ("unwrapped_arguments",)),
        (
            {"path": "a", "edits": '[{"old": "x"}]'},
            {"path": "a", "edits": [{"old": "x"}]},
            ("decoded_string",),
        ),
        (
            {"path": "a", "edits": ['{"old": "x", "at": "{\\"line\\": 1}"}']},
            {"path": "a", "edits": [{"old": "x", "at": {"line": 1}}]},
            ("decoded_string",),
        ),
    ],
)
def test_z50_a_wrong_shape_is_mended_where_the_schema_says_how(
    value: JSON, expected: JSON, repairs: tuple[str, ...]
) -> None:
    """Double encoding and wrappers are removed if the inner value fits."""
    fitted = fit_arguments(value, SchemaChecker(SCHEMA))

    assert (fitted.value, fitted.repairs) == (expected, repairs)


@pytest.mark.parametrize("value", [None, "null", "", [], "[]"])
def test_nothing_stands_for_no_arguments_if_none_are_required(value: JSON) -> None:
    """A tool without required parameters may be called with nothing."""
    fitted = fit_arguments(value, SchemaChecker(OPTIONAL))

    assert fitted.value == {}
    assert fitted.repairs[-1] == "empty_arguments"
    assert fit_arguments(value, SchemaChecker(SCHEMA)).value is None


@pytest.mark.parametrize(
    "value",
    [
        '"' * 3,
        '"\\"\\\\\\"{}\\\\\\"\\""',  # encoded three times
        [{"path": "a"}, {"path": "b"}],
        [1],
        {"arguments": {"file": "a"}},
        {"arguments": {"path": 1}},
        {"arguments": {"path": "a"}, "id": 1},
        {"wrapper": {"path": "a"}},
        {"path": "a", "edits": "[1, 2"},
        {"path": "a", "edits": "none"},
        {"path": "a", "edits": '[{"new": "x"}]'},
        {"path": {"path": "a"}},
    ],
)
def test_a_fix_that_does_not_fit_is_no_fix(value: JSON) -> None:
    """Similarity to the arguments is not enough."""
    assert fit_arguments(value, SchemaChecker(SCHEMA)).value is None


def test_a_wrapper_that_the_schema_declares_stays() -> None:
    """`input` may be a parameter's real name."""
    schema: dict[str, JSON] = {
        "type": "object",
        "properties": {"input": {"type": "object"}, "path": {"type": "string"}},
    }
    fitted = fit_arguments({"input": {"path": "a"}}, SchemaChecker(schema))

    assert (fitted.value, fitted.repairs) == ({"input": {"path": "a"}}, ())


def test_z58_a_wrapper_around_keys_that_nobody_declared_stays() -> None:
    """The inner value must be the tool's arguments, not merely pass an open schema."""
    fitted = fit_arguments({"arguments": {"file": "a"}}, SchemaChecker(OPTIONAL))

    assert (fitted.value, fitted.repairs) == ({"arguments": {"file": "a"}}, ())


def test_a_wrapper_stays_where_the_schema_welcomes_other_keys() -> None:
    """An explicitly open object is meant literally."""
    schema = {**OPTIONAL, "additionalProperties": {"type": "object"}}
    fitted = fit_arguments({"input": {"path": "a"}}, SchemaChecker(schema))

    assert (fitted.value, fitted.repairs) == ({"input": {"path": "a"}}, ())


def test_a_string_stays_a_string_where_the_schema_wants_one() -> None:
    """Text that looks like JSON is still text."""
    fitted = fit_arguments({"path": '{"old": "x"}', "edits": []}, SchemaChecker(SCHEMA))

    assert (fitted.value, fitted.repairs) == ({"path": '{"old": "x"}', "edits": []}, ())


@pytest.mark.parametrize(
    ("content", "expected", "repairs"),
    [
        ('{"n": 1}', {"n": 1}, ("decoded_string",)),
        ('{"m": 1}', '{"m": 1}', ()),
        ("[1]", "[1]", ()),
        ("{n: 1}", "{n: 1}", ()),
        ("plain", "plain", ()),
    ],
)
def test_a_union_with_text_prefers_the_structure_that_fits(
    content: str, expected: JSON, repairs: tuple[str, ...]
) -> None:
    """The string branch would silently accept a stringified object."""
    fitted = fit_arguments({"content": content}, SchemaChecker(UNION))

    assert (fitted.value, fitted.repairs) == ({"content": expected}, repairs)


def test_a_string_to_blame_inside_a_union_is_found() -> None:
    """A union misfits as a whole, although the fault is deeper."""
    branch: JSON = {"type": "object", "properties": {"x": {"type": "array"}}, "required": ["x"]}
    schema: dict[str, JSON] = {"properties": {"u": {"anyOf": [branch, {"type": "integer"}]}}}
    fitted = fit_arguments({"u": {"x": "[1]"}}, SchemaChecker(schema))

    assert (fitted.value, fitted.repairs) == ({"u": {"x": [1]}}, ("decoded_string",))


def test_many_stringified_values_end_in_bounded_work() -> None:
    """A reply with thousands of encoded items is handled in bounded time."""
    schema: dict[str, JSON] = {"properties": {"a": {"items": {"type": "object"}}}}
    fitted = fit_arguments({"a": ["{}"] * 5000}, SchemaChecker(schema))

    assert fitted.value is None
