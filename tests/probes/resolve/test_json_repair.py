from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.messages import JSON
from probes.resolve.json_repair import MAX_BYTES, ORDER, read_json
from tests.probes.test_call_arguments import JSON_VALUES

FIRES: list[tuple[str, JSON, tuple[str, ...]]] = [
    ('\ufeff{"a": 1}', {"a": 1}, ("strip_bom",)),
    ('\u00a0{"a": 1}\u200b', {"a": 1}, ("strip_bom",)),
    ('```json\n{"a": 1}\n```', {"a": 1}, ("strip_fence",)),
    ('```\n{"a": 1}```', {"a": 1}, ("strip_fence",)),
    ('json\n{"a": 1}', {"a": 1}, ("strip_fence",)),
    ('{"a": 1}]', {"a": 1}, ("trailing_junk",)),
    ('{"a": 1}}', {"a": 1}, ("trailing_junk",)),
    ('{"a": 1};\n', {"a": 1}, ("trailing_junk",)),
    ('{"a": 1}</tool_call><|im_end|>', {"a": 1}, ("trailing_junk",)),
    ('{"a": "x\ny\tz"}', {"a": "x\ny\tz"}, ("control_characters",)),
    ('{"a": [1, 2,],}', {"a": [1, 2]}, ("trailing_comma",)),
    ('{"a": 1 // one\n, /* two */ "b": 2}', {"a": 1, "b": 2}, ("comments",)),
    ("{'a': True, 'b': [False, None]}", {"a": True, "b": [False, None]}, ("python_literals",)),
    ("{'a': 'it\\'s \"so\"'}", {"a": 'it\'s "so"'}, ("python_literals",)),
    ('{"a": """x "y"\nz"""}', {"a": 'x "y"\nz'}, ("python_literals",)),
    ('{a: 1, $b-c: "d"}', {"a": 1, "$b-c": "d"}, ("unquoted_keys",)),
    (r'{"a": "\d+\.\w"}', {"a": r"\d+\.\w"}, ("invalid_escapes",)),
    (r'{"a": "C:\users"}', {"a": r"C:\users"}, ("invalid_escapes",)),
    (r"""{"a": "echo 'it'\''s'"}""", {"a": r"echo 'it'\''s'"}, ("invalid_escapes",)),
    ('{"a": 1, "a": 2}', {"a": 2}, ("duplicate_keys",)),
]


@pytest.mark.parametrize(("text", "value", "repairs"), FIRES)
def test_each_repair_reads_what_it_is_for(text: str, value: JSON, repairs: tuple[str, ...]) -> None:
    """One fault needs one repair, and its name says which."""
    reading = read_json(text)

    assert (reading.value, reading.repairs, reading.error) == (value, repairs, None)


def test_several_repairs_are_named_in_the_order_of_the_ladder() -> None:
    """A text may have many faults at once."""
    reading = read_json('```json\n{\'a\': "x\ny", /* b */ b: "\\d",}]\n```')

    assert reading.value == {"a": "x\ny", "b": "\\d"}
    assert reading.repairs == (
        "strip_fence",
        "trailing_junk",
        "control_characters",
        "trailing_comma",
        "comments",
        "python_literals",
        "unquoted_keys",
        "invalid_escapes",
    )


@pytest.mark.parametrize(
    "value",
    [
        "```json\n{}\n```",  # each of these would be changed outside a string
        "{}]",
        "a,]",
        "// no /* comment */",
        "True, None, 'x'",
        "{a: 1}",
        "\\d \\u12",
        "json {}",
        "\ufeff",
    ],
)
def test_no_repair_touches_the_inside_of_a_string(value: str) -> None:
    """The content of a valid string is kept to the character."""
    reading = read_json(json.dumps({"a": value}))

    assert (reading.value, reading.repairs) == ({"a": value}, ())


@pytest.mark.parametrize(
    "text",
    [
        'Here it is: {"a": 1}',  # strip_fence takes no prose off
        'jsonish {"a": 1}',
        '{"a": 1} and so on',  # trailing_junk is a short list
        '{"a": 1}, then',
        '{"a": 1,, "b": 2}',  # trailing_comma is before a closing bracket
        "[,]",
        '{"a": 1 # one\n}',  # comments are of two kinds
        "{'a': TRUE}",
        "{'a': undefined}",
        "{'a': 'it's'}",
        "{a b: 1}",
        "{1: 2}",
        "{a: b}",
        '{"a": NaN}',
        '{"a": -Infinity}',
        '{"a": 1e999}',
        '{"a": ' + "9" * 5000 + ",}",
        '{"a" 1}',
        '{"a": 01}',
        '{"say "hi""}',
    ],
)
def test_what_no_repair_is_for_stays_broken(text: str) -> None:
    """A text whose meaning would have to be guessed is an error."""
    reading = read_json(text)

    assert reading.error is not None
    assert (reading.value, reading.ended_early) == (None, False)


def test_z45_a_trailing_bracket_is_forgiven() -> None:
    """gpt-oss on Ollama ends its arguments with `]`; nothing else is lost."""
    assert read_json('{"command": ["ls", "-l"]}]').value == {"command": ["ls", "-l"]}


def test_z19_concatenated_objects_are_several_values_and_no_value() -> None:
    """Joined parallel calls are not merged or cut to the first."""
    for text in ('{"a": 1}{"a": 2}', '{"a": 1}\n{"a": 1}', '{"a": 1},{"a": 2}'):
        reading = read_json(text)

        assert (reading.several, reading.value) == (True, None)


@pytest.mark.parametrize(
    ("text", "closable"),
    [
        ('{"a": "x', True),
        ('{"a": [1, 2', True),
        ('{"a": 1,', True),
        ("{'a': True", True),
        ('{"a":', False),
        ('{"a', False),
        ('{"a": tr', False),
        ('{"a": 1 /* open', True),
        ('```json\n{"a": 1', True),
    ],
)
def test_a_text_that_ends_early_is_never_completed(text: str, closable: bool) -> None:
    """`closable` only says whether closing it would help."""
    reading = read_json(text)

    assert (reading.value, reading.ended_early, reading.closable) == (None, True, closable)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "{'a':" * 65 + "1" + "}" * 65, "'" + "x" * MAX_BYTES + "'"]
)
def test_depth_and_size_are_bounded(text: str) -> None:
    """Too deep and too large differ from malformed."""
    assert read_json(text).too_large


@given(JSON_VALUES)
def test_strict_json_passes_untouched(value: JSON) -> None:
    """Valid JSON reads as with json and needs no repair."""
    reading = read_json(json.dumps(value))

    assert json.dumps(reading.value) == json.dumps(value)
    assert reading.repairs == ()


@given(JSON_VALUES)
def test_a_python_literal_is_read_as_python_reads_it(value: JSON) -> None:
    """`repr` of plain data is what models write when they confuse the two."""
    reading = read_json(repr(value))

    if reading.error is None and "invalid_escapes" not in reading.repairs:
        assert reading.value == value


@given(
    st.lists(
        st.sampled_from(
            [*"{}[]:,\"'\\/*\n\t ", "true", "None", "1", "-", "a", "```", "json", "\\u"]
        ),
        max_size=40,
    )
)
def test_any_text_is_read_without_an_exception(tokens: list[str]) -> None:
    """Any noise gives a value or an error, and only known repairs."""
    reading = read_json("".join(tokens))

    assert set(reading.repairs) <= set(ORDER)
    assert reading.error is None or reading.value is None
