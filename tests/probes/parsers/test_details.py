"""What is peculiar to one format."""

from __future__ import annotations

import pytest

from probes.messages import JSON, ToolSpec
from probes.parsers.base import JsonText, Parameter, Parameters
from probes.parsers.text_items import VisibleText
from tests.probes.parsers.read_helpers import calls, raw_calls, read_every_way, text_of

P = "]<]minimax[>["


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "f", "arguments": {"a": 1}}{"name": "g"}</tool_call>',
        '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n{"name": "g"}\n</tool_call>',
        '<tool_call>[{"name": "f", "arguments": {"a": 1}}, {"name": "g"}]</tool_call>',
        '<tools>{"name": "f", "parameters": {"a": 1}}</tools>\n<tools>{"name": "g"}</tools>',
        '<function_call>{"name": "f", "arguments": {"a": 1}}</function_call>\n<tool_call>'
        '{"name": "g"}',
        '<tool_call>{"type": "function", "function": {"name": "f", "arguments": {"a": 1}}}'
        '{"function": {"name": "g"}}</tool_call>',
    ],
)
def test_hermes_takes_one_object_several_or_an_array(text: str) -> None:
    """All tags and shapes that models put JSON calls in."""
    assert calls(read_every_way(text)) == [("f", {"a": 1}), ("g", {})]


@pytest.mark.parametrize(
    ("body", "arguments", "notes"),
    [
        ('{"name": "f", "arguments": {"a": 1},}', '{"a": 1}', ("trailing_comma",)),
        ('{"name": "f", "arguments": {"a": 1}}}', '{"a": 1}', ("trailing_junk",)),
        ("{'name': 'f', 'arguments': {'a': 'it\"s'}}", "{'a': 'it\"s'}", ("python_literals",)),
        ('{name: "f", arguments: {"a": 1,}}', '{"a": 1,}', ("unquoted_keys",)),
        ('{"name": "f", "arguments": {"a": "x\ny"}}', '{"a": "x\ny"}', ()),
        ('{"name": "f", "arguments": {"a": "say "x" "}}', '{"a": "say "x" "}', ()),
        ('{"name": "f", "arguments": "{\\"a\\": 1}"}', '"{\\"a\\": 1}"', ()),
        ('```json\n{"name": "f", "arguments": {"a": 1}}\n```', '{"a": 1}', ()),
    ],
)
def test_hermes_hands_on_broken_json_as_it_stands(
    body: str, arguments: str, notes: tuple[str, ...]
) -> None:
    """Repair is the ladder's; the next call is not harmed by the broken one."""
    found = read_every_way(
        f'<tool_call>\n{body}\n</tool_call>\n<tool_call>{{"name": "g"}}</tool_call>'
    )

    first, second = raw_calls(found)
    assert (first.name, first.arguments, first.notes) == ("f", JsonText(arguments), notes)
    assert second.name == "g"


def test_hermes_string_with_its_closing_tag_is_whole() -> None:
    """A closing tag inside a JSON string is text."""
    text = '<tool_call>{"name": "f", "arguments": {"a": "</tool_call> x"}}</tool_call>'

    assert calls(read_every_way(text)) == [("f", {"a": "</tool_call> x"})]


def test_qwen_value_loses_exactly_one_line_break_on_each_side() -> None:
    """Indentation and blank lines of code survive."""
    found = read_every_way(
        "<function=f>\n<parameter=a>\n\n  x\n\n</parameter>\n"
        "<parameter=b> y </parameter>\n</function>"
    )

    assert calls(found) == [("f", {"a": "\n  x\n", "b": " y "})]


@pytest.mark.parametrize("value", ["x</parameter>", "</parameter>"])
def test_qwen_value_that_ends_with_its_closing_tag_is_whole(value: str) -> None:
    """Only the tag on a line of its own ends a value that began on a line of its own."""
    found = read_every_way(
        f"<function=f>\n<parameter=a>\n{value}\n</parameter>\n</function>\n</tool_call>"
    )

    assert calls(found) == [("f", {"a": value})]


def test_qwen_missing_closing_tag_is_tolerated_where_the_next_parameter_opens() -> None:
    """The value ends where the next one begins."""
    found = read_every_way(
        "<function=f>\n<parameter=a>\n1\n<parameter=b>\n2\n</parameter>\n</function>"
    )

    assert calls(found) == [("f", {"a": "1", "b": "2"})]
    assert raw_calls(found)[0].notes == ("missing_close",)


def test_qwen_parameter_tag_spoken_of_in_a_value_is_text() -> None:
    """A pair of tags inside a value stays inside it."""
    value = "see <parameter=b>x</parameter> here"

    found = read_every_way(f"<function=f>\n<parameter=a>\n{value}\n</parameter>\n</function>")

    assert calls(found) == [("f", {"a": value})]


def test_qwen_function_tag_spoken_of_in_a_value_does_not_swallow_the_next_call() -> None:
    """What looks like a quoted call but never ends is only text."""
    one = "<function=f>\n<parameter=a>\n<function=x> is a tag\n</parameter>\n</function>"
    two = "<function=g>\n</function>"

    found = read_every_way(f"<tool_call>\n{one}\n</tool_call>\n<tool_call>\n{two}\n</tool_call>")

    assert calls(found) == [("f", {"a": "<function=x> is a tag"}), ("g", {})]


def test_qwen_missing_function_end_is_tolerated() -> None:
    """The outer tag ends the call too."""
    found = read_every_way(
        "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</tool_call>\n"
    )

    assert calls(found) == [("f", {"a": "1"})]
    assert text_of(found) == ""


@pytest.mark.parametrize("name", ['"f"', "'f'", "f"])
def test_m2_name_may_be_quoted_either_way_or_not_at_all(name: str) -> None:
    """Models are not careful with quotes."""
    text = (
        f"<minimax:tool_call><invoke name={name}><parameter name={name}> v\n</parameter></invoke>"
    )

    assert calls(read_every_way(text)) == [("f", {"f": " v\n"})]


def test_m3_tags_that_stand_several_times_make_a_list() -> None:
    """None of the values is lost."""
    tags = f"{P}<tag>a{P}</tag>{P}<tag>b{P}</tag>{P}<n>1{P}</n>"

    found = read_every_way(f'{P}<invoke name="f">{P}<labels>{tags}{P}</labels>{P}</invoke>')

    assert calls(found) == [("f", {"labels": '{"tag": ["a", "b"], "n": 1}'})]


def test_m3_nested_tags_become_objects_and_lists() -> None:
    """Items make a list, other tags an object, and the schema says what a leaf is."""
    schema: dict[str, JSON] = {
        "type": "object",
        "properties": {
            "rows": {
                "type": "array",
                "items": {"type": "object", "properties": {"sku": {"type": "string"}}},
            }
        },
    }
    row = f"{P}<item>{P}<sku>007{P}</sku>{P}<n>2{P}</n>{P}</item>"
    body = f"{P}<rows>{row}{row}{P}</rows>{P}<t>a <b>{P}</t>"
    text = f'{P}<tool_call>{P}<invoke name="f">{body}{P}</invoke>'

    found = read_every_way(text, [ToolSpec("f", "", schema)])

    rows = '[{"sku": "007", "n": 2}, {"sku": "007", "n": 2}]'
    assert raw_calls(found)[0].arguments == Parameters(
        (Parameter("rows", rows, is_string=False), Parameter("t", "a <b>"))
    )


def test_m3_nesting_beyond_the_bound_is_no_call() -> None:
    """Depth is bounded; the text is kept."""
    text = f'{P}<tool_call>{P}<invoke name="f">' + f"{P}<a>" * 100

    assert read_every_way(text) == [VisibleText(text)]


def test_k3_attributes_are_unescaped_and_types_told() -> None:
    """Only attributes are escaped, and only with two entities."""
    text = (
        '<|open|>call tool="f" index="1"<|sep|>'
        '<|open|>argument key="a&quot;b&amp;" type="integer"<|sep|>1<|close|>argument<|sep|>'
        '<|open|>argument key="c" type="string"<|sep|>&amp;<|close|>argument<|sep|>'
        '<|open|>argument key="d"<|sep|>x<|close|>argument<|sep|><|close|>call<|sep|>'
    )

    assert raw_calls(read_every_way(text))[0].arguments == Parameters(
        (
            Parameter('a"b&', "1", is_string=False),
            Parameter("c", "&amp;", is_string=True),
            Parameter("d", "x"),
        )
    )


def test_k3_response_channel_is_visible_text() -> None:
    """The channel's tags are markup, what is in it is the answer."""
    text = (
        "<|open|>think<|sep|>hm<|close|>think<|sep|>"
        "<|open|>response<|sep|>Hi<|close|>response<|sep|>"
    )

    assert text_of(read_every_way(text)) == "Hi"


def test_k2_empty_arguments_are_a_call() -> None:
    """Nothing between the tokens means no arguments."""
    text = "<|tool_call_begin|>functions.g:3<|tool_call_argument_begin|><|tool_call_end|>"

    call = raw_calls(read_every_way(text))[0]

    assert (call.name, call.id, call.arguments) == ("g", "functions.g:3", JsonText(""))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[TOOL_CALLS]f[CALL_ID]abc123def[ARGS]{"a": 1}', [("f", "abc123def")]),
        ('[TOOL_CALLS]f{"a": 1}', [("f", "")]),
        ('[TOOL_CALLS]f[ARGS]{"a": 1}g[ARGS]{}', [("f", ""), ("g", "")]),
        ('[TOOL_CALLS] [{"name": "f", "arguments": {}, "id": "abc123def"}]', [("f", "abc123def")]),
        ('Sure.[TOOL_CALLS]f[ARGS]{"a": 1}', [("f", "")]),
    ],
)
def test_mistral_variants_are_read_with_their_ids(
    text: str, expected: list[tuple[str, str]]
) -> None:
    """Array or heads, with an id or without, one after another or each with its own token."""
    assert [(call.name, call.id) for call in raw_calls(read_every_way(text))] == expected


@pytest.mark.parametrize(
    "text",
    [
        '<|python_tag|>{"name": "f", "parameters": {"a": 1}}<|eom_id|>',
        '{"name": "f", "parameters": {"a": 1}}<|eot_id|>',
        '[{"name": "f", "arguments": {"a": 1}}]',
        "<|python_tag|>f.call(a=1)<|eom_id|>",
        '{"type": "function", "function": {"name": "f", "arguments": {"a": 1}}}',
    ],
)
def test_llama_variants_are_read(text: str) -> None:
    """With the tag or bare, with end tokens, and Llama's built-in form."""
    found = read_every_way(text)

    assert calls(found) == [("f", {"a": 1})]
    assert raw_calls(found)[0].format == "llama_json"


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "John", "age": 3}',
        '{"name": "f", "age": 3}',
        '{"name": "f", "arguments": {"a": 1}} is how you call it.',
        'Like so: {"name": "f", "arguments": {"a": 1}}',
        '[{"name": "f", "arguments": {}}, 5]',
        "[1, 2, 3]",
        "[link](https://example.org)",
        '```json\n{"name": "f", "arguments": {}}\n```\nThis calls f.',
        'For example:\n```json\n{"name": "f", "arguments": {}}\n```',
        "```python\nprint(1)\n```",
    ],
)
def test_json_that_is_not_wholly_calls_is_text(text: str) -> None:
    """Without markup, only a text that is nothing but declared calls counts."""
    assert read_every_way(text) == [VisibleText(text)]


@pytest.mark.parametrize(
    "text",
    [
        "[f(a=1), unheard_of()]",
        "[f(a=__import__('os'))]",
        "[f(a=b)]",
        "[f(1)]",
        "[f(**{'a': 1})]",
        "[f(a=1)] and more",
        "[f(a=1e999)]",
        "[f(a=lambda: 1)]",
        "[f(a=f'{1}')]",
        "[f(a=[x for x in y])]",
        "[f(a=" + "[" * 100 + "]" * 100 + ")]",
        "[f(a=1",
        "[f(a='\\0\x00')]",
    ],
)
def test_pythonic_takes_literals_and_declared_names_only(text: str) -> None:
    """Nothing is evaluated, and whatever is more than a literal is text."""
    assert read_every_way(text) == [VisibleText(text)]


def test_pythonic_literals_become_json() -> None:
    """Python's spelling of values, and JSON's, are both understood."""
    found = read_every_way("[f(a=-1.5, b=[True, None, 'x'], c={'k': (1, 2)}, d=true, e=null)]")

    assert calls(found) == [
        ("f", {"a": -1.5, "b": [True, None, "x"], "c": {"k": [1, 2]}, "d": True, "e": None})
    ]


def test_child_invoke_counts_only_under_a_declared_tool() -> None:
    """Any XML might look like it."""
    text = "<invoke><unheard_of><cmd>ls</cmd></unheard_of></invoke>"

    assert read_every_way(text) == [VisibleText(text)]


def test_harmony_name_with_a_glued_word_is_handed_on() -> None:
    """The ladder knows which words a lost token leaves behind."""
    text = '<|channel|>commentary to=functions.fjson<|message|>{"a":1}<|call|>'

    assert calls(read_every_way(text)) == [("fjson", {"a": 1})]


def test_real_call_behind_prose_about_the_tag_is_found() -> None:
    """Talking about calls does not prevent one."""
    prose = "I use `<tool_call>` for it. <tool_call> opens it.\n```\n<tool_call>\n{}\n```\n"

    found = read_every_way(prose + '<tool_call>{"name": "f", "arguments": {}}</tool_call>')

    assert found[0] == VisibleText(prose)
    assert calls(found) == [("f", {})]


@pytest.mark.parametrize(
    "call",
    [
        '<tool_call>{"name": "f", "arguments": {}}</tool_call>',
        "<tool_call>f</tool_call>",
        "<function=f></function>",
        '<invoke name="f"></invoke>',
    ],
)
def test_call_in_the_middle_of_a_line_is_prose(call: str) -> None:
    """Tags that prose may contain count at the start of a line only, blanks aside."""
    text = f"It is written {call} in this format."

    assert read_every_way(text) == [VisibleText(text)]
    assert calls(read_every_way(f"So:\n  {call}")) == [("f", {})]


@pytest.mark.parametrize(
    ("body", "value"),
    [("x</parameter></parameter>", "x</parameter>"), ("x</parameter>\n</parameter>", "x")],
)
def test_m2_two_closing_tags_are_a_value_or_one_too_many(body: str, value: str) -> None:
    """Side by side the first belongs to the value; on a line of its own the second is surplus."""
    found = read_every_way(f'<invoke name="f">\n<parameter name="a">{body}\n</invoke>')

    assert calls(found) == [("f", {"a": value})]


@pytest.mark.parametrize(
    "body", ['{"name": "f", "arguments": {"a": 1}', '{"name": "f", "arguments": {"a": 1}, "x}']
)
def test_hermes_object_that_is_never_closed_has_a_fault(body: str) -> None:
    """What is missing at the end is never supplied, the end tag notwithstanding."""
    [call] = raw_calls(read_every_way(f"<tool_call>\n{body}\n</tool_call>\n"))

    assert call.fault


def test_hermes_comments_around_the_members_are_passed_over_and_noted() -> None:
    """Two slashes in an address are no comment."""
    body = '{"name": "f", /* why, {so} */ "arguments": {"a": "http://x"} // done\n}'

    [call] = raw_calls(read_every_way(f"<tool_call>\n{body}\n</tool_call>"))

    assert (call.name, call.arguments) == ("f", JsonText('{"a": "http://x"}'))
    assert (call.notes, call.fault) == (("comments",), "")


def test_m2_wrapper_may_hold_json() -> None:
    """What stands inside decides, not the outer tag."""
    text = '<minimax:tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</minimax:tool_call>'

    found = read_every_way(text)

    assert (text_of(found), calls(found)) == ("", [("f", {"a": 1})])
