from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.call_arguments import SchemaChecker
from probes.messages import JSON
from probes.parsers.base import Parameter
from probes.resolve.coercion import ParameterReading, read_parameters


def read_value(text: str, schema: JSON, *, is_string: bool | None = None) -> ParameterReading:
    checker = SchemaChecker({"type": "object", "properties": {"p": schema}})
    reading = read_parameters([Parameter("p", text, is_string)], checker)
    assert isinstance(reading.value, dict)
    return ParameterReading(reading.value["p"], reading.repairs)


@pytest.mark.parametrize(
    "text",
    [
        "007",
        "true",
        "1e5",
        "null",
        "[1]",
        '{"a": 1}',
        " x \n",
        "",
        "\n\n",
        "&lt;b&gt;",
        "None",
        "'x'",
    ],
)
@pytest.mark.parametrize("schema", [{"type": "string"}, {"enum": ["x"], "type": "string"}, {}])
def test_a_pure_string_is_never_coerced(text: str, schema: JSON) -> None:
    """Zeros, words, white space and markup are kept to the character."""
    expected = "x" if schema == {"enum": ["x"], "type": "string"} and text == " x \n" else text

    assert read_value(text, schema).value == expected


@given(st.text())
def test_any_text_of_a_string_parameter_is_verbatim(text: str) -> None:
    """Only a value that is a single CDATA section loses its wrapping."""
    reading = read_value(text, {"type": "string"})

    assert reading.value == text or reading.repairs == ("cdata",)


def test_an_undeclared_parameter_stays_a_string() -> None:
    """Its type is unknown."""
    reading = read_parameters([Parameter("q", "5")], SchemaChecker({"properties": {"p": {}}}))

    assert reading == ParameterReading({"q": "5"})


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("5", {"type": "integer"}, 5),
        (" -5\n", {"type": "integer"}, -5),
        ("5.0", {"type": "integer"}, 5),
        ("5.5", {"type": "integer"}, "5.5"),
        ("5", {"type": "number"}, 5),
        ("5.50", {"type": "number"}, 5.5),
        ("1e3", {"type": "number"}, 1000.0),
        ("NaN", {"type": "number"}, "NaN"),
        ("Infinity", {"type": "number"}, "Infinity"),
        ("1e999", {"type": "number"}, "1e999"),
        ("1_000", {"type": "integer"}, "1_000"),
        ("٣", {"type": "integer"}, "٣"),
        ("9" * 5000, {"type": "integer"}, "9" * 5000),
        ("true", {"type": "boolean"}, True),
        ("False", {"type": "boolean"}, False),
        ("1", {"type": "boolean"}, True),
        ("0", {"type": "boolean"}, False),
        ("yes", {"type": "boolean"}, "yes"),
        ("null", {"type": ["string", "null"]}, None),
        ("None", {"type": ["string", "null"]}, "None"),
        ("5", {"type": ["string", "integer"]}, 5),
        ("five", {"type": ["string", "integer"]}, "five"),
        ("1", {"type": ["boolean", "integer"]}, 1),
        ("5", {"enum": [1, 5]}, 5),
        ("5", {"enum": ["1", "5"]}, "5"),
        ("true", {"const": True}, True),
        ('{"a": 1}', {"type": "object"}, {"a": 1}),
        ("[1, 2]", {"type": "array"}, [1, 2]),
        ("[1, 2]", {"anyOf": [{"type": "string"}, {"type": "array"}]}, [1, 2]),
        ("[draft] x", {"anyOf": [{"type": "string"}, {"type": "array"}]}, "[draft] x"),
        ("{a: 1}", {"anyOf": [{"type": "string"}, {"type": "object"}]}, "{a: 1}"),
        ("5", {"allOf": [{"type": "integer"}]}, 5),
    ],
)
def test_text_is_read_by_the_first_type_that_the_schema_admits(
    text: str, schema: JSON, value: JSON
) -> None:
    """null, integer, number, boolean, object, array, string: in this order, and no repair."""
    reading = read_value(text, schema)

    assert (reading.value, type(reading.value)) == (value, type(value))
    assert reading.repairs == ()


def test_types_behind_a_reference_are_found() -> None:
    """Generated schemas put everything under $defs."""
    checker = SchemaChecker(
        {"properties": {"p": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "integer"}}}
    )

    assert read_parameters([Parameter("p", "5")], checker) == ParameterReading({"p": 5})


def test_the_reading_that_fits_wins_over_the_first() -> None:
    """A union is decided by the whole schema, not by the order alone."""
    schema: JSON = {"anyOf": [{"type": "integer", "minimum": 100}, {"type": "string"}]}

    assert read_value("5", schema) == ParameterReading("5")
    assert read_value("500", schema) == ParameterReading(500)


@pytest.mark.parametrize(
    ("text", "value", "repairs"),
    [
        ("{'a': True}", {"a": True}, ("python_literals",)),
        ('{"a": 1,}', {"a": 1}, ("trailing_comma",)),
    ],
)
def test_an_object_between_tags_may_need_the_json_repairs(
    text: str, value: JSON, repairs: tuple[str, ...]
) -> None:
    """They have the same names as everywhere."""
    assert read_value(text, {"type": "object"}) == ParameterReading(value, repairs)


def test_entities_are_decoded_only_if_that_makes_the_value_fit() -> None:
    """These formats are not XML; a literal `&lt;` is a literal `&lt;`."""
    assert read_value("a &lt; b", {"type": "string"}) == ParameterReading("a &lt; b")
    assert read_value("&lt;=", {"enum": ["<=", ">="]}) == ParameterReading("<=", ("entities",))
    assert read_value("&lt;", {"enum": ["<=", ">="]}).value == "&lt;"
    assert read_value("{&quot;a&quot;: 1}", {"type": "object"}) == ParameterReading(
        {"a": 1}, ("entities",)
    )


@pytest.mark.parametrize(
    ("text", "value", "repairs"),
    [
        ("<![CDATA[a < b]]>", "a < b", ("cdata",)),
        ("\n<![CDATA[ x ]]>\n", " x ", ("cdata",)),
        ("<![CDATA[]]>", "", ("cdata",)),
        ("see <![CDATA[x]]>", "see <![CDATA[x]]>", ()),
        ("<![CDATA[a]]><![CDATA[b]]>", "<![CDATA[a]]><![CDATA[b]]>", ()),
        ("<![CDATA[]>", "<![CDATA[]>", ()),
    ],
)
def test_cdata_around_a_whole_value_is_wrapping(
    text: str, value: str, repairs: tuple[str, ...]
) -> None:
    """Inside a value it is content."""
    assert read_value(text, {"type": "string"}) == ParameterReading(value, repairs)


def test_white_space_around_a_choice_is_forgiven_only_there() -> None:
    """A string is stripped only if just the stripped one is allowed."""
    assert read_value("\nred\n", {"enum": ["red"]}) == ParameterReading("red", ("strip_space",))
    assert read_value("\nred\n", {"type": "string"}) == ParameterReading("\nred\n")


def test_the_markup_flag_is_believed_until_the_schema_contradicts() -> None:
    """DSML sends string="true" or "false" for each value."""
    either: JSON = {"type": ["integer", "string"]}

    assert read_value("5", either, is_string=True) == ParameterReading("5")
    assert read_value("5", either, is_string=False) == ParameterReading(5)
    assert read_value("5", {"type": "integer"}, is_string=True) == ParameterReading(5, ("retyped",))
    assert read_value("5", {"type": "string"}, is_string=False) == ParameterReading(
        "5", ("retyped",)
    )
    assert read_value("5", {"type": "string"}, is_string=True) == ParameterReading("5")
    assert read_value("[1", {}, is_string=False) == ParameterReading("[1", ("retyped",))


def test_a_parameter_that_comes_twice_counts_once() -> None:
    """The last one counts and the loss is named."""
    reading = read_parameters([Parameter("p", "1"), Parameter("p", "2")], SchemaChecker(None))

    assert reading == ParameterReading({"p": "2"}, ("duplicate_keys",))


def test_one_value_that_cannot_fit_does_not_undo_the_others() -> None:
    """Each value is read as well as possible."""
    checker = SchemaChecker({"properties": {"a": {"type": "object"}, "b": {"enum": ["<"]}}})
    reading = read_parameters([Parameter("a", "no"), Parameter("b", "&lt;")], checker)

    assert reading.value == {"a": "no", "b": "<"}
