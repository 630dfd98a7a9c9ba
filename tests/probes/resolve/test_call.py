from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.call_arguments import MAX_BYTES, call_argument_text
from probes.messages import JSON, Breakage, BrokenCall, Location, ToolCall, ToolSpec
from probes.parsers.base import JsonText, Parameter, Parameters, RawCall
from probes.resolve.call import resolve_call, resolve_json_call
from tests.probes.test_call_arguments import JSON_VALUES

WEATHER: dict[str, JSON] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
    "required": ["city"],
    "additionalProperties": False,
}
BASH: dict[str, JSON] = {
    "type": "object",
    "properties": {"command": {"type": "string"}},
    "required": ["command"],
}
TOOLS = [
    ToolSpec("get_weather", "", WEATHER),
    ToolSpec("bash", "", BASH),
    ToolSpec("now", "", {"type": "object", "properties": {}}),
    ToolSpec("anything", "", None),
]


def resolve(
    text: str,
    name: str = "get_weather",
    *,
    tools: Sequence[ToolSpec] = TOOLS,
    repair: bool = True,
    truncated: bool = False,
) -> ToolCall | BrokenCall:
    return resolve_json_call(
        text,
        name=name,
        id="call_1",
        format="openai",
        tools=tools,
        repair=repair,
        truncated=truncated,
    )


def broken(text: str, name: str = "get_weather", *, truncated: bool = False) -> BrokenCall:
    call = resolve(text, name, truncated=truncated)
    assert isinstance(call, BrokenCall)
    return call


def test_a_call_that_is_right_passes_as_it_came() -> None:
    """No repairs, the arguments as written, the id kept."""
    call = resolve('{"city": "Paris", "days": 3}')

    assert call == ToolCall(
        "call_1",
        "get_weather",
        {"city": "Paris", "days": 3},
        "openai",
        '{"city": "Paris", "days": 3}',
    )


def test_name_syntax_and_shape_repairs_are_named_in_order() -> None:
    """Earlier repairs come first."""
    call = resolve("```json\n{'arguments': {'city': 'Paris'}}\n```", "functions.get_weather")

    assert isinstance(call, ToolCall)
    assert (call.name, call.input) == ("get_weather", {"city": "Paris"})
    assert call.repairs == (
        "name_prefix",
        "strip_fence",
        "python_literals",
        "unwrapped_arguments",
    )


def test_z55_an_unknown_tool_is_an_error_that_lists_the_real_ones() -> None:
    """The model sees its own name and the available names; no tool is substituted."""
    call = broken("{}", "get_forecast")

    assert call.kind is Breakage.UNKNOWN_TOOL
    assert call.name == "get_forecast"
    assert call.error == (
        "There is no tool named 'get_forecast'. Available tools: anything, bash, get_weather, now."
    )
    assert call.as_error()["error_code"] == "unknown_tool"


def test_the_list_of_available_tools_is_bounded() -> None:
    """Ten thousand tools with long names do not fill the context."""
    many = [ToolSpec(f"tool_{number}_" + "x" * 100, "", None) for number in range(10_000)]
    call = resolve("{}", "y" * 10_000, tools=many)

    assert isinstance(call, BrokenCall)
    assert "and 9950 more" in call.error
    assert len(call.error) < 3000


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("{}", "$", '"city" is a required property'),
        ('{"city": 5}', "$.city", 'not of type "string"'),
        ('{"city": "Paris", "days": 0}', "$.days", "minimum of 1"),
        ('{"city": "Paris", "country": "FR"}', "$", "'country' was unexpected"),
    ],
)
def test_arguments_that_break_the_schema_say_where_and_what_was_wanted(
    text: str, path: str, expected: str
) -> None:
    """The path and message of the first error let the model try again."""
    call = broken(text)

    assert (call.kind, call.path, call.retryable) == (Breakage.SCHEMA_MISMATCH, path, True)
    assert expected in call.error


def test_a_huge_wrong_value_does_not_make_a_huge_message() -> None:
    """The value is cut; the requirement is kept."""
    call = broken(json.dumps({"city": ["x" * 100_000]}))

    assert len(call.error) < 600
    assert 'is not of type "string"' in call.error


@pytest.mark.parametrize("text", ["[1]", "5", '"Paris"', "true", "[{}, {}]"])
def test_arguments_that_are_no_object_are_told_so(text: str) -> None:
    """A lone value is never assumed to be the only parameter."""
    assert broken(text).kind is Breakage.NOT_AN_OBJECT


def test_too_large_arguments_are_not_worth_a_retry() -> None:
    """Size and depth are limited, and a retry cannot fix them."""
    large = broken('{"city": "' + "x" * MAX_BYTES + '"}')
    deep = broken("[" * 100)

    assert (large.kind, large.retryable) == (Breakage.TOO_LARGE, False)
    assert (deep.kind, deep.retryable) == (Breakage.TOO_LARGE, False)


def test_z19_concatenated_arguments_are_no_call() -> None:
    """Two argument objects in one string are refused with a reason."""
    call = broken('{"city": "Paris"}{"city": "Rome"}')

    assert call.kind is Breakage.INVALID_JSON
    assert "Each call has an arguments object of its own" in call.error


def test_z45_a_trailing_bracket_does_not_cost_the_call() -> None:
    """`{..}]` is what gpt-oss writes."""
    call = resolve('{"city": "Paris"}]')

    assert isinstance(call, ToolCall)
    assert call.repairs == ("trailing_junk",)


@pytest.mark.parametrize("key", ["city<arg_key", "city</arg_value>", "<parameter=city>", "a<|x|>"])
def test_z35_markup_in_a_key_rejects_the_call(key: str) -> None:
    """With fragments of another format in the keys, the values cannot be trusted."""
    call = broken(json.dumps({"city": "Paris", key: "x"}), "anything")

    assert call.kind is Breakage.RESIDUAL_MARKUP


def test_markup_in_a_value_is_content() -> None:
    """A file may contain tags."""
    assert isinstance(resolve('{"city": "</arg_value><arg_key>"}'), ToolCall)


def test_z38_replayed_arguments_are_json_again() -> None:
    """Repaired arguments go back as JSON, others as received; dialects write {} for no text."""
    repaired = resolve("{'city': 'Paris',}")
    clean = resolve('{"city":   "Paris"}')

    assert isinstance(repaired, ToolCall)
    assert isinstance(clean, ToolCall)
    assert call_argument_text(repaired) == '{"city": "Paris"}'
    assert call_argument_text(clean) == '{"city":   "Paris"}'


def test_z58_a_string_parameter_is_never_decoded() -> None:
    """A wrapper written as text stays text: no repair makes a command out of it."""
    inner = '{"command": "rm -rf /"}'
    call = resolve(json.dumps({"command": inner}), "bash")

    assert isinstance(call, ToolCall)
    assert (call.input, call.repairs) == ({"command": inner}, ())


def test_z58_a_repair_that_does_not_validate_is_not_executed() -> None:
    """A shape that only resembles the arguments is an error."""
    assert broken('{"args": "ls"}', "bash").kind is Breakage.SCHEMA_MISMATCH
    assert broken('"ls -l"', "bash").kind is Breakage.NOT_AN_OBJECT
    assert broken('{"arguments": {"cmd": "ls"}}', "bash").kind is Breakage.SCHEMA_MISMATCH
    assert broken('{"arguments": {"command": 5}}', "bash").kind is Breakage.SCHEMA_MISMATCH


@pytest.mark.parametrize(
    "text", ["{'city': 'Paris'}", '{"city": "Paris"}]', '"{}"', '[{"city": "Paris"}]', "null"]
)
def test_without_repair_only_strict_json_of_the_right_shape_counts(text: str) -> None:
    """The unrepaired rate is measured by the same code."""
    assert isinstance(resolve(text, repair=False), BrokenCall)
    assert isinstance(resolve('{"city": "Paris"}', "Get_Weather", repair=False), BrokenCall)
    assert isinstance(resolve('{"city": "Paris"}', repair=False), ToolCall)


@pytest.mark.parametrize("schema", [None, {}])
def test_a_tool_without_a_schema_takes_any_object(schema: Mapping[str, JSON] | None) -> None:
    """There is nothing to validate against."""
    call = resolve('{"input": {"x": 1}}', "f", tools=[ToolSpec("f", "", schema)])

    assert isinstance(call, ToolCall)
    assert (call.input, call.repairs) == ({"input": {"x": 1}}, ())


@pytest.mark.parametrize(
    "schema",
    [{"type": 5}, {"$ref": "https://example.com/schema.json"}, {"pattern": "("}, {"$ref": "#/no"}],
)
def test_a_schema_that_does_not_compile_checks_nothing_and_says_so(
    schema: Mapping[str, JSON],
) -> None:
    """The model is not blamed for the caller's schema, and nothing is fetched."""
    call = resolve('{"a": 1}', "f", tools=[ToolSpec("f", "", schema)])

    assert isinstance(call, ToolCall)
    assert call.repairs == ("schema_not_compiled",)


def test_a_pattern_with_lookahead_is_still_checked() -> None:
    """The linear engine has no lookaround; such a schema is checked by the other engine."""
    schema: dict[str, JSON] = {"properties": {"a": {"type": "string", "pattern": "^(?=x).y$"}}}
    tools = [ToolSpec("f", "", schema)]

    assert isinstance(resolve('{"a": "xy"}', "f", tools=tools), ToolCall)
    assert isinstance(resolve('{"a": "zy"}', "f", tools=tools), BrokenCall)


def test_without_tools_name_and_arguments_are_taken_as_they_are() -> None:
    """A text may be read without knowing the offered tools."""
    call = resolve('{"a": 1}', "whatever", tools=())

    assert isinstance(call, ToolCall)
    assert (call.name, call.input, call.repairs) == ("whatever", {"a": 1}, ())
    assert isinstance(resolve("{}", "", tools=()), BrokenCall)


def test_a_cut_call_is_refused_even_if_it_validates() -> None:
    """A prefix of a longer value can be a valid one."""
    call = broken('{"city": "Par"}', truncated=True)

    assert call.kind is Breakage.TRUNCATED_CALL


def raw(arguments: JsonText, *, closed: bool = True) -> RawCall:
    return RawCall("get_weather", arguments, "hermes", "<tool_call>", closed=closed)


def test_a_swallowed_end_tag_is_noted_and_forgiven() -> None:
    """Stop strings remove the closing tag; the arguments are complete."""
    call = resolve_call(raw(JsonText('{"city": "Paris"}'), closed=False), TOOLS)

    assert isinstance(call, ToolCall)
    assert call.repairs == ("unterminated",)


def test_json_that_ends_early_in_an_open_call_is_truncated() -> None:
    """The rest is unknown."""
    opened = resolve_call(raw(JsonText('{"city": "Par'), closed=False), TOOLS)
    closed = resolve_call(raw(JsonText('{"city": "Par')), TOOLS)

    assert isinstance(opened, BrokenCall)
    assert opened.kind is Breakage.TRUNCATED_CALL
    assert isinstance(closed, BrokenCall)
    assert closed.kind is Breakage.INVALID_JSON
    assert "ends early" in closed.error


def test_ids_are_minted_by_place_and_text() -> None:
    """The same text gives the same ids; two equal calls in one reply differ."""
    call = raw(JsonText('{"city": "Paris"}'))
    ids = [resolve_call(call, TOOLS, position=position).id for position in (0, 1, 0)]

    assert ids[0] == ids[2] != ids[1]
    assert all(len(one) == 29 and one.startswith("call_") and one[5:].isalnum() for one in ids)


def test_where_a_call_was_found_is_kept() -> None:
    """A call inside the reasoning differs from one in the answer."""
    call = RawCall("now", JsonText("{}"), "hermes", "", location=Location.REASONING)

    assert resolve_call(call, TOOLS).location is Location.REASONING


@given(st.text() | JSON_VALUES.map(json.dumps), st.booleans(), st.booleans())
def test_whatever_is_handed_out_validates(text: str, repair: bool, truncated: bool) -> None:
    """Any text gives a call that fits its schema or an error; a cut one is never a call."""
    call = resolve(text, repair=repair, truncated=truncated)

    if isinstance(call, ToolCall):
        assert not truncated
        assert isinstance(call.input["city"], str)
        assert set(call.input) <= {"city", "days"}


@given(st.dictionaries(st.from_regex(r"[a-z ]{0,9}", fullmatch=True), JSON_VALUES, max_size=4))
def test_a_strict_object_passes_with_no_repairs(value: dict[str, JSON]) -> None:
    """Valid arguments are not changed."""
    call = resolve(json.dumps(value), "anything")

    assert isinstance(call, ToolCall)
    assert json.dumps(call.input) == json.dumps(value)
    assert call.repairs == ()


@given(
    st.lists(st.builds(Parameter, st.text(), st.text(), st.none() | st.booleans()), max_size=4),
    st.sampled_from([(True, False), (False, False), (False, True), (True, True)]),
    st.sampled_from(["get_weather", "anything", "bash", "x"]),
    st.booleans(),
)
def test_tags_of_any_content_are_read_without_an_exception(
    items: list[Parameter], state: tuple[bool, bool], name: str, repair: bool
) -> None:
    """A call from tags is complete or an error; one that ended inside a value is an error."""
    closed, open_value = state
    call = RawCall(
        name, Parameters(tuple(items)), "glm", "raw", closed=closed, open_value=open_value
    )

    resolved = resolve_call(call, TOOLS, repair=repair)

    assert isinstance(resolved, BrokenCall) or not open_value
