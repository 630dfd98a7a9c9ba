"""Markup that is part of no call, and must not be shown to people."""

from __future__ import annotations

import pytest

from probes.messages import Breakage
from probes.parsers.base import JsonText
from probes.parsers.text_items import ReasoningText, VisibleText
from probes.text_answer import read_text_answer
from tests.probes.parsers.read_helpers import (
    TOOLS,
    arguments,
    calls,
    raw_calls,
    read_every_way,
    text_of,
)
from tests.probes.parsers.writers import child_invoke, kimi_k3, minimax_m2, name_arguments, qwen_xml

D = "｜DSML｜"
P = "]<]minimax[>["


def test_dsml_of_deepseek_v41_has_a_blank_in_every_tag_and_another_block() -> None:
    """`<｜DSML｜ calls>` is as much a block as those of V3.2 and V4."""
    text = (
        f'I look.\n\n<{D} calls>\n<{D} invoke name="f">\n'
        f'<{D} parameter name="a" string="true">1</{D} parameter>\n</{D} invoke>\n'
        f'<{D} invoke name="g">\n</{D} invoke>\n</{D} calls>'
    )

    found = read_every_way(text)

    assert text_of(found) == "I look.\n\n"
    assert calls(found) == [("f", {"a": "1"}), ("g", {})]


@pytest.mark.parametrize(
    ("block", "tag", "close"),
    [
        (f"{D}function_calls", f"{D}invoke", f"{D}invoke"),
        (f"{D} calls", f"{D} invoke", f"{D} invoke"),
        (f"{D} calls", f"{D} invoke", f"{D}invoke"),
        ("function_calls", "invoke", "invoke"),
        ("minimax:tool_call", "invoke", "invoke"),
    ],
)
def test_arguments_of_an_invoke_may_be_one_json_object(block: str, tag: str, close: str) -> None:
    """Engines that enforce a schema write them so."""
    body = '{"a": {"b": "</x> }"}, "c": [1]}'
    text = (
        f'<{block}>\n<{tag} name="f">{body}</{close}>\n<{tag} name="g">{{}}</{close}>\n</{block}>'
    )

    found = read_every_way(text)

    assert calls(found) == [("f", {"a": {"b": "</x> }"}, "c": [1]}), ("g", {})]
    assert len(found) == 2


@pytest.mark.parametrize("tag", [f"{D}invoke", "invoke"])
def test_json_object_of_an_invoke_that_is_cut_off_is_open(tag: str) -> None:
    """Only a balanced body is whole."""
    text = f'<{tag} name="f">{{"a": {{"b": 1}}}}'
    whole, cut = raw_calls(read_every_way(text)), raw_calls(read_every_way(text[:-1]))

    assert [(call.closed, call.open_value) for call in whole] == [(False, False)]
    assert [(call.closed, call.open_value) for call in cut] == [(False, True)]


def test_json_object_of_an_invoke_that_lost_a_quote_does_not_swallow_the_next_call() -> None:
    """The closing tag at the end of its line ends it."""
    text = f'<{D}invoke name="f">{{"a": "x}}</{D}invoke>\n<{D}invoke name="g">{{}}</{D}invoke>'

    first, second = raw_calls(read_every_way(text))

    assert (first.name, first.arguments) == ("f", JsonText('{"a": "x}'))
    assert (second.name, arguments(second)) == ("g", {})


def test_k3_end_of_the_message_is_markup() -> None:
    """It is the last thing that the model writes."""
    call = kimi_k3([("f", {"a": "1"})])
    text = f"<|open|>response<|sep|>Hi<|close|>response<|sep|>{call}<|close|>message<|sep|>"

    found = read_every_way(text)

    assert found[0] == VisibleText("Hi")
    assert calls(found) == [("f", {"a": "1"})]
    assert len(found) == 2
    assert read_every_way("Hello<|close|>message<|sep|>") == [VisibleText("Hello")]


@pytest.mark.parametrize(
    "section",
    [
        "<|tool_calls_section_begin|><|tool_calls_section_end|>",
        "<|tool_call_section_begin|>\n<|tool_call_section_end|>",
        "<|tool_calls_section_begin|>",
        "<|open|>tools<|sep|><|close|>tools<|sep|>",
        "<｜tool▁calls▁begin｜><｜tool▁calls▁end｜>",
        f"<{D}tool_calls>\n</{D}tool_calls>",
        f"{P}<tool_call>\n{P}</tool_call>",
    ],
)
def test_empty_section_of_special_tokens_is_neither_text_nor_a_call(section: str) -> None:
    """No prose contains these tokens."""
    assert read_every_way(f"Hi.{section}") == [VisibleText("Hi.")]


def test_k2_section_tokens_around_anything_else_are_not_text() -> None:
    """What stands between them is."""
    noise = "<|tool_calls_section_begin|>so, hm<|tool_calls_section_end|>"

    assert read_every_way(f"Hi. {noise} Bye.") == [VisibleText("Hi. so, hm Bye.")]


def test_k2_call_behind_noise_in_its_section_is_found() -> None:
    """The noise is text, the tokens are not."""
    call = "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_end|>"

    found = read_every_way(f"<|tool_calls_section_begin|>so {call}<|tool_calls_section_end|>")

    assert calls(found) == [("f", {})]
    assert text_of(found) == "so "


@pytest.mark.parametrize(
    "call",
    [
        qwen_xml([("f", {"a": "1"}), ("g", {"b": "2"})]),
        minimax_m2([("f", {"a": "1"}), ("g", {"b": "2"})]),
        '<function_calls>\n<invoke name="f"><parameter name="a">1</parameter></invoke>\n'
        '<invoke name="g"><parameter name="b">2</parameter></invoke>\n</function_calls>',
    ],
)
@pytest.mark.parametrize("words", ["ok", "Say:", "I look. "])
def test_wrapper_in_the_middle_of_a_line_before_a_call_on_the_next_is_markup(
    words: str, call: str
) -> None:
    """The call counts at its line's start, so its wrapper does."""
    found = read_every_way(words + call)

    assert text_of(found) == words
    assert calls(found) == [("f", {"a": "1"}), ("g", {"b": "2"})]


@pytest.mark.parametrize(
    "tag", ["tool_call", "function_call", "minimax:tool_call", "function_calls", "tool_calls"]
)
@pytest.mark.parametrize("space", ["", "\n"])
def test_tags_of_a_call_with_nothing_in_them_are_a_broken_call(tag: str, space: str) -> None:
    """The model wanted to call something: it is told, and people see no markup."""
    answer = read_text_answer([f"Hi.\n<{tag}>{space}</{tag}>\n"], TOOLS)

    assert (answer.text, answer.calls) == ("Hi.\n", ())
    assert [(call.kind, call.retryable) for call in answer.broken] == [
        (Breakage.INVALID_JSON, True)
    ]
    assert "empty" in answer.broken[0].error


@pytest.mark.parametrize("format", ["hermes", "qwen_xml", "glm", "name_arguments", "minimax_m2"])
def test_empty_call_is_broken_in_every_format_with_that_tag(format: str) -> None:
    """A format that was asked for by name makes no difference."""
    [call] = raw_calls(read_every_way("<tool_call>\n</tool_call>", format=format))

    assert (call.format, call.name) == (format, "")
    assert call.fault


@pytest.mark.parametrize(
    "text",
    [
        "It is written <tool_call></tool_call>.",
        "It ends.<tool_call></tool_call>",
        "`<tool_call></tool_call>`",
        "```\n<tool_call>\n</tool_call>\n```",
    ],
)
def test_empty_tags_that_are_spoken_of_are_prose(text: str) -> None:
    """In the middle of a line, in backticks and in a fence."""
    assert read_every_way(text) == [VisibleText(text)]


def test_empty_tags_in_reasoning_are_reasoning() -> None:
    """Reasoning is verbatim."""
    assert read_every_way("<think>\n<tool_call></tool_call>\n</think>Hi")[0] == ReasoningText(
        "\n<tool_call></tool_call>\n", complete=True
    )


@pytest.mark.parametrize(
    "tail",
    ["<|eot|>", "<|eot_id|>", "\n<|eom|>", "<|python_end|>", "<|python_end|><|eot|>\n"],
)
@pytest.mark.parametrize("head", ["", "<|python_start|>"])
def test_pythonic_call_before_a_stop_token_is_a_call(head: str, tail: str) -> None:
    """Llama 4 writes it so."""
    found = read_every_way(f'{head}[f(a="x"), g()]{tail}')

    assert calls(found) == [("f", {"a": "x"}), ("g", {})]
    assert len(found) == 2


@pytest.mark.parametrize("tail", ["<|eot|>", "<|eom|>", "<|eot_id|>"])
def test_bare_json_call_before_a_stop_token_is_a_call(tail: str) -> None:
    """The sibling of the pythonic form."""
    found = read_every_way(f'{{"name": "f", "parameters": {{"a": "x"}}}}{tail}')

    assert calls(found) == [("f", {"a": "x"})]
    assert len(found) == 1


@pytest.mark.parametrize("tag", ["minimax:tool_call", "tool_call", "function_calls", "tool_calls"])
def test_wrapper_around_child_invokes_is_markup(tag: str) -> None:
    """MiniMax puts one form of call into the tags of another."""
    written = [("f", {"a": "1"}), ("g", {"b": "2"})]

    found = read_every_way(f"Hi.\n<{tag}>\n{child_invoke(written)}\n</{tag}>")

    assert calls(found) == written
    assert text_of(found) == "Hi.\n"
    assert {call.format for call in raw_calls(found)} == {"child_invoke"}


@pytest.mark.parametrize("tag", ["minimax:tool_call", "tool_call"])
def test_two_names_with_arguments_in_one_pair_of_tags_are_two_calls(tag: str) -> None:
    """Nothing of the second one is text."""
    pairs = name_arguments([("f", {"a": "1"}), ("g", {"b": "2"})], tag)
    text = pairs.replace(f"\n</{tag}>\n<{tag}>", "")

    found = read_every_way(f"Hi.\n{text}")

    assert text.count("<name>") == 2
    assert text.count(f"<{tag}>") == 1
    assert calls(found) == [("f", {"a": "1"}), ("g", {"b": "2"})]
    assert text_of(found) == "Hi.\n"
