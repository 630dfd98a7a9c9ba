"""The failure zoo's rows that concern calls in text, each under its number."""

from __future__ import annotations

import pytest

from probes.messages import Location
from probes.parsers.base import JsonText, Parameter, Parameters
from probes.parsers.reader import read_text
from probes.parsers.text_items import VisibleText
from probes.text_answer import read_text_answer
from tests.probes.parsers.read_helpers import TOOLS, calls, fed, raw_calls, read_every_way, text_of
from tests.probes.parsers.writers import dsml, kimi_k2, minimax_m2, qwen_xml

WHOLE = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'


def test_z24_qwen_call_that_leaked_into_content_is_found() -> None:
    """`<tool_call><function=` in content is a call, with the text before it kept."""
    found = read_every_way(
        "I will check.\n<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n"
        "</function>\n</tool_call>"
    )

    assert text_of(found) == "I will check.\n"
    assert calls(found) == [("f", {"a": "1"})]


def test_z25_call_inside_think_is_not_lost() -> None:
    """A Qwen call in reasoning is found and marked."""
    found = read_every_way(
        "<think>\nNow\n<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>\n</think>"
    )

    assert [(call.name, call.location) for call in raw_calls(found)] == [("f", Location.REASONING)]


def test_z25_call_inside_think_is_marked_in_the_answer() -> None:
    """Whoever executes calls can tell that this one was only thought of."""
    answer = read_text_answer([f"<think>\n{WHOLE}\n</think>\n"], TOOLS)

    assert [(call.name, call.repairs) for call in answer.calls] == [("f", ("found_in_reasoning",))]


def test_z25_call_that_is_drafted_and_then_made_is_one_call() -> None:
    """The reasoning's draft of a visible call is not executed as well."""
    answer = read_text_answer([f"<think>\n{WHOLE}\n</think>\n{WHOLE}"], TOOLS)

    assert [(call.name, call.location) for call in answer.calls] == [("f", Location.CONTENT)]


@pytest.mark.parametrize("tools", [TOOLS, ()], ids=["tools", "no_tools"])
@pytest.mark.parametrize(
    "text",
    [
        "The literal <tool_call> opens a call and </tool_call> closes it.",
        "<tool_call> is the tag that opens a call. Then comes JSON.",
        "Use `<tool_call>` like this: `<tool_call>{}</tool_call>`.",
        "Lines:\n<tool_call>\nfollowed by JSON\n</tool_call>\nend",
        "<function=NAME> names the function, <parameter=KEY> a parameter.",
        "[TOOL_CALLS] is what Mistral writes, `<|python_tag|>` what Llama writes.",
        "<invoke name= is how it begins.",
        "In harmony, <|channel|>commentary marks preambles; to=functions.x the recipient.",
        f"Write {WHOLE} to call f.",
        f"Write so:\n```\n{WHOLE}\n```\nand f is called.",
        '`<｜DSML｜invoke name="f"></｜DSML｜invoke>` calls f.',
    ],
)
def test_z26_prose_about_a_tag_is_prose(text: str, tools: tuple[()]) -> None:
    """Text that mentions markup comes out whole, as text."""
    assert read_every_way(text, tools) == [VisibleText(text)]


def test_z26_example_with_a_name_nobody_declared_is_prose() -> None:
    """Behind words, only a declared name makes a call of markup at a line's start."""
    text = 'It looks so:\n<tool_call>{"name": "NAME", "arguments": {}}</tool_call>'

    assert read_every_way(text) == [VisibleText(text)]


def test_z27_value_with_its_own_closing_tags_is_not_cut() -> None:
    """`</parameter>` and `</tool_call>` inside a value do not end it."""
    value = "a </parameter> b\n</tool_call> c\n</function> d"

    found = read_every_way(
        f"<tool_call>\n<function=write_file>\n<parameter=content>\n{value}\n</parameter>\n</function>\n</tool_call>"
    )

    assert calls(found) == [("write_file", {"content": value})]


def test_z27_whole_call_quoted_inside_a_value_belongs_to_the_value() -> None:
    """A file that documents the format can be written with the format."""
    call = "<tool_call>\n<function=g>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>"
    quoted = f"Example:\n{call}\nDone"

    found = read_every_way(
        f"<tool_call>\n<function=write_file>\n<parameter=content>\n{quoted}\n</parameter>\n</function>\n</tool_call>"
    )

    assert calls(found) == [("write_file", {"content": quoted})]


def test_z28_value_without_line_breaks_does_not_swallow_the_next_call() -> None:
    """`value</parameter>` ends a value as well as a line break before the tag."""
    one = "<tool_call><function=f><parameter=a>1</parameter></function></tool_call>"
    two = "<tool_call><function=g><parameter=b>2</parameter></function></tool_call>"

    assert calls(read_every_way(one + two)) == [("f", {"a": "1"}), ("g", {"b": "2"})]


def test_z28_call_that_opens_inside_an_unclosed_value_leaves_residual_markup() -> None:
    """Where a value was never closed, the markup it swallowed stays visible in it."""
    found = read_every_way(
        "<tool_call>\n<function=f>\n<parameter=a>\n1\n<tool_call>\n<function=g>\n<parameter=b>\n2"
    )

    call = raw_calls(found)[0]
    assert isinstance(call.arguments, Parameters)
    assert call.open_value
    assert "<function=g>" in call.arguments.items[0].value


def test_z29_duplicated_closing_tag_is_tolerated() -> None:
    """A second `</parameter>` costs neither the call nor the value."""
    found = read_every_way(
        "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</parameter>\n</function>\n</tool_call>"
    )

    assert calls(found) == [("f", {"a": "1"})]
    assert raw_calls(found)[0].notes == ("duplicate_close",)


@pytest.mark.parametrize("text", ["<tool_call>\n<function=f", "<tool_c", '<tool_call>\n{"na'])
def test_z30_truncated_opener_reads_the_same_streamed_and_whole(text: str) -> None:
    """An opening that never became a call is text, in pieces as in one."""
    assert read_every_way(text) == [VisibleText(text)]


def test_z30_call_that_ends_anywhere_reads_the_same_streamed_and_whole() -> None:
    """Every beginning of a call says the same in single characters as in one piece."""
    text = "So.\n" + qwen_xml([("f", {"a": "1"}), ("g", {"b": "2"})])

    for end in range(len(text) + 1):
        assert fed(list(text[:end])) == read_text(text[:end], TOOLS), text[:end]


@pytest.mark.parametrize("text", ["<tool_call>\n<function=f", '<tool_call>\n{"na'])
def test_z30_opener_cut_by_the_token_limit_is_a_cut_call(text: str) -> None:
    """Where the limit struck, half an opening is no text for people to read."""
    found = raw_calls(read_every_way(text, truncated=True))

    assert [(call.raw, call.closed, call.open_value) for call in found] == [(text, False, True)]


def test_z31_markup_behind_a_name_is_passed_on() -> None:
    """`f</arg_value>` is a call whose name the ladder cleans."""
    found = read_every_way("<tool_call>f</arg_value></tool_call>")

    assert calls(found) == [("f</arg_value>", {})]


@pytest.mark.parametrize(
    "text", ["<tool_call>f</tool_call>", "<tool_call>f\n</tool_call>", "<tool_call>f"]
)
def test_z32_glm_call_without_arguments_is_found(text: str) -> None:
    """No argument tag is needed; without the closing tag, arguments may be missing."""
    found = read_every_way(text)

    assert calls(found) == [("f", {})]
    assert raw_calls(found)[0].open_value is not text.endswith("</tool_call>")


def test_z33_tool_call_tag_is_dispatched_on_what_is_inside() -> None:
    """JSON, XML, GLM and M2 bodies under one tag are each read as what they are."""
    text = "\n".join(
        [
            '<tool_call>{"name": "f", "arguments": {}}</tool_call>',
            "<tool_call><function=f></function></tool_call>",
            "<tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>",
            "<tool_call><name>f</name><arguments>{}</arguments></tool_call>",
            '<tool_call><invoke name="f"></invoke></tool_call>',
        ]
    )

    assert [call.format for call in raw_calls(read_every_way(text))] == [
        "hermes",
        "qwen_xml",
        "glm",
        "name_arguments",
        "minimax_m2",
    ]


@pytest.mark.parametrize(
    "call",
    [
        "<tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>",
        '<invoke name="f"><parameter name="a">1</parameter></invoke>',
    ],
)
def test_z34_glm_call_in_reasoning_is_found(call: str) -> None:
    """Interleaved thinking leaks both forms; both are marked as found in reasoning."""
    found = read_every_way(f"<think>I need f.\n{call}</think>")

    assert [(item.name, item.location) for item in raw_calls(found)] == [("f", Location.REASONING)]


def test_z35_key_with_markup_is_handed_on_to_be_refused() -> None:
    """A key with half a tag in it is not tidied up here."""
    found = read_every_way(
        "<tool_call>f<arg_key>file<arg_key</arg_key><arg_value>1</arg_value></tool_call>"
    )

    assert calls(found) == [("f", {"file<arg_key": "1"})]


def test_z36_minimax_call_in_a_text_block_is_found() -> None:
    """The XML that the Anthropic endpoint failed to parse is parsed here."""
    found = read_every_way("Sure.\n" + minimax_m2([("get_weather", {"city": "Paris"})]))

    assert calls(found) == [("get_weather", {"city": "Paris"})]
    assert text_of(found) == "Sure.\n"


@pytest.mark.parametrize("block", ["tool_calls", "function_calls", "tool_use", ""])
@pytest.mark.parametrize("bar", ["｜", "｜｜", "‖", "|", "||", " | "])
def test_z40_dsml_is_found_under_every_block_name_and_bar(bar: str, block: str) -> None:
    """Bars once or twice, ASCII or not, spaced or not; both block names, a third, and none."""
    found = read_every_way(dsml([("f", {"a": "1"}), ("g", {})], bar, block))

    assert calls(found) == [("f", {"a": "1"}), ("g", {})]
    assert text_of(found) == ""


def test_z40_unterminated_dsml_section_is_found_but_is_never_whole() -> None:
    """Behind the last parameter more may have been to come."""
    text = (
        '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="f">\n'
        '<｜DSML｜parameter name="a" string="false">1</｜DSML｜parameter>\n'
    )

    found = [
        (call.arguments, call.closed, call.open_value) for call in raw_calls(read_every_way(text))
    ]

    assert found == [(Parameters((Parameter("a", "1", is_string=False),)), False, True)]


def test_z41_dsml_behind_prose_is_not_shown_as_text() -> None:
    """Markup in the middle of a line is a call too: no prose contains it."""
    found = read_every_way("I'll do that now." + dsml([("f", {"a": "1"})]))

    assert found[0] == VisibleText("I'll do that now.")
    assert calls(found) == [("f", {"a": "1"})]


@pytest.mark.parametrize("section", ["tool_calls_section", "tool_call_section", ""])
def test_z42_leaked_kimi_tokens_are_calls_with_their_native_ids(section: str) -> None:
    """Plural, singular or no section; the header is the id."""
    found = read_every_way(kimi_k2([("f", {"a": "1"}), ("g", {})], section))

    assert [(call.name, call.id) for call in raw_calls(found)] == [
        ("f", "functions.f:0"),
        ("g", "functions.g:1"),
    ]
    assert text_of(found) == ""


@pytest.mark.parametrize(
    "text",
    [
        '<|channel|>analysis to=functions.f <|constrain|>json<|message|>{"a":1}<|call|>',
        '<|start|>assistant to=functions.f<|channel|>commentary<|message|>{"a":1}<|call|>',
        '<|channel|>commentary to=f<|message|>{"a":1}<|call|>',
        'assistantcommentary to=functions.f json{"a":1}',
        'commentary to=functions.f code{"a":1}',
    ],
)
def test_z47_harmony_call_is_found_on_any_channel(text: str) -> None:
    """A recipient makes a call, on analysis too, and with the special tokens gone."""
    found = read_every_way(text)

    assert calls(found) == [("f", {"a": 1})]
    assert text_of(found) == ""


@pytest.mark.parametrize("person", ["user", "assistant"])
def test_z47_harmony_message_to_a_person_is_no_call(person: str) -> None:
    """A recipient alone makes no call: it must be a tool."""
    found = read_every_way(f"<|channel|>final to={person}<|message|>Hi.<|end|>", ())

    assert found == [VisibleText("Hi.")]


def test_z48_end_of_text_ends_a_harmony_call() -> None:
    """`<|call|>` is the stop token, so most texts end without it."""
    found = read_every_way(
        '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a":1}'
    )

    assert raw_calls(found)[0].arguments == JsonText('{"a":1}')
    assert not raw_calls(found)[0].open_value
    assert text_of(found) == ""


@pytest.mark.parametrize("size", [1, 5, 40, 1000])
def test_z71_every_invoke_of_a_block_is_found_whatever_the_pieces(size: int) -> None:
    """Several tags in one piece lose no argument, and not only the last invoke is found."""
    written = [("f", {"a": str(number), "b": "x"}) for number in range(5)]
    text = minimax_m2(written)

    found = fed([text[at : at + size] for at in range(0, len(text), size)])

    assert calls(found) == written
    assert {call.format for call in raw_calls(found)} == {"minimax_m2"}
    assert text_of(found) == ""
