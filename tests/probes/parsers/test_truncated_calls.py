"""Calls of which the length limit, or a stop token, left only a part."""

from __future__ import annotations

import pytest

from probes.messages import ToolCall
from probes.parsers.reader import read_text
from probes.parsers.text_items import VisibleText
from probes.resolve.call import resolve_call
from tests.extent import EXTENT
from tests.probes.parsers.read_helpers import (
    TOOLS,
    arguments,
    calls,
    raw_calls,
    read_every_way,
    text_of,
)
from tests.probes.parsers.test_formats import HOSTILE
from tests.probes.parsers.writers import FORMATS

WRITTEN = [("f", {"a": "1", "b": "lorem ipsum"}), ("g", {"a": "2", "b": "dolor"})]

HEADS = (
    "<｜DSML｜tool_calls>\n<｜DSML｜inv",
    '<｜DSML｜invoke name="f">\n<｜DSML｜param',
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁s",
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_arg",
    '<|open|>tools<|sep|><|open|>call tool="f',
    "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke na",
    "<minimax:tool_call>\n<invoke na",
    "<minimax:tool_call>\n<name>f</name>\n<argu",
    "<|start|>assistant<|channel|>commentary to=functions.f",
    "[TOOL_CALLS]f[ARG",
    "<|python_tag|>",
    "<tool_call>",
    '<tool_call>\n{"na',
    "<tool_call>\n<function=",
    "<tool_call>\n<function=f>\n<param",
    "<tool_call>get_wea",
    "<tool_call>f<arg_key>a</arg_",
    "<invoke>\n<f>\n<a",
    'functools[{"na',
    '<|tool_call|> [{"na',
    "<|START_ACTION|>[\n",
    'Action: ```json\n[\n    {\n        "tool_na',
    '<tool_calls>[{"na',
    '<answer>\n<tool_calls>\n{"na',
    "<TOOLCALL>[",
    "<longcat_tool_call>\n",
    "<|action_start|><|plug",
    '<|action_start|><|plugin|>\n{"na',
    '<|tools_prefix|>[{"get_wea',
    "<|tool_call>call:get_wea",
    '<|tool_call>call:f{a:<|"',
    "call:get_wea",
    "call:f{a",
    "<start_function_call>ca",
    "<start_function_call>call:f{a:<esc",
    "<|python_start|>[get_wea",
    "<|python_start|>[f(a=",
    "<|tool_call_start|>[",
    '<|tool_call_start|>[{"na',
    "<function_calls>\nget_wea",
    "<function_calls>\nf(a='x",
    "```tool_code\nget_wea",
    "```tool_code\nprint(f(a=",
    "<tool_calls:opensource>\n<tool_ca",
    "<tool_calls:opensource>\n<tool_call:opensource>get_wea",
    "<tool_call:opensource>f<tool_sep:opensource>\n<arg_k",
    "<tool_calls>\n<tool_call>get_wea",
    "<tool_calls>\n<tool_c",
    "<seed:tool_call>\n<func",
    "<seed:tool_call>\n<function=f>\n<para",
    "<｜tool_calls_begin｜>\n<｜tool_call_begin｜>function<｜tool_s",
    '<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="f',
    '<function name="f',
    '<function name="f"><para',
    "<|start|>assistant to=f<|message|><atem:func",
    "<atem:function_calls>\n<atem:inv",
    "<|message_model|>f<|content_inv",
    '<|message_model|>f<|content_invoke_tool_json|>{"na',
    "<|content_invoke_tool_json|>",
    "<dots_function_call>\n<inv",
    '<dots_function_call>{"na',
    'function call<|role_sep|>\n{"na',
    "<|function_call|>",
    "<|tool_calls|><|tool_call:beg",
    "<|tool_calls|><|tool_call:begin|>a1b2<|tool_call:name|>f<|tool_c",
    "<|tool_call:begin|>a1b2",
    "<|tool_call:start|>get_wea",
    "<|tool_call:start|>f\n<|tool_arg:st",
    "✿FUNCTION✿: f\n✿ARG",
    "Action: f\nAction In",
    "Action: f\nAction Input:",
)


@pytest.mark.parametrize("head", HEADS)
def test_call_cut_off_in_its_head_is_a_cut_call_and_no_text(head: str) -> None:
    """Under a length limit the opening of a call is one, though its name never came."""
    found = read_every_way(f"I look.\n{head}", truncated=True)

    call = raw_calls(found)[0]
    assert (len(raw_calls(found)), call.closed, call.open_value) == (1, False, True)
    assert text_of(found) == "I look.\n"


@pytest.mark.parametrize("head", HEADS)
def test_head_of_a_call_is_text_where_nothing_was_cut(head: str) -> None:
    """Without a length limit half a tag is what the model had to say."""
    assert all(call.open_value for call in raw_calls(read_every_way(head)))


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call> is the tag that Qwen",
        "[TOOL_CALLS] is a token",
        "<function=f> opens it and then",
        "Write `<tool_call>",
        "```\n<tool_call>\n{",
        "It begins with <tool_call>",
        "<|channel|>final",
        "<|tool_call> is a token of Gemma",
        "call: your mother",
        "<function_calls> wraps the calls of",
        "```tool_code\nimport os",
        "Write ```tool_code",
        "✿FUNCTION✿ is what Qwen-Agent writes",
        "<seed:tool_call> opens a section of calls",
        ">>> f(1)",
        "Action: close the ticket and",
    ],
)
def test_cut_prose_about_a_tag_is_prose(text: str) -> None:
    """An explanation may hit the limit too."""
    assert read_every_way(text, truncated=True) == [VisibleText(text)]


@pytest.mark.parametrize("name", [name for name, format in FORMATS.items() if format.closer])
def test_half_a_closing_tag_is_neither_a_closing_tag_nor_text(name: str) -> None:
    """A limit that strikes inside the end tag leaves a call that is not closed."""
    format = FORMATS[name]
    text = format.write([("f", {"a": "1"})])
    half = text[: len(text) - len(format.closer) + 3]

    cut, stopped = raw_calls(read_every_way(half, truncated=True)), read_every_way(half)

    assert all(call.open_value and not call.closed for call in cut)
    assert raw_calls(stopped)[0].open_value or calls(stopped) == [("f", {"a": "1"})]
    assert text_of(stopped) == ""


@pytest.mark.parametrize("truncated", [False, True], ids=["stopped", "truncated"])
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("name", FORMATS)
def test_every_prefix_of_a_call_is_safe(name: str, count: int, truncated: bool) -> None:
    """Wherever the text ends, a call that looks whole has exactly the arguments of one written."""
    text = FORMATS[name].write(WRITTEN[:count])

    for end in range(len(text) + 1):
        for call in raw_calls(read_text(text[:end], TOOLS, truncated=truncated)):
            assert call.open_value or (call.name, arguments(call)) in WRITTEN, text[:end]


@pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("name", FORMATS)
def test_every_prefix_of_a_hostile_call_is_safe(name: str, value: str) -> None:
    """Not even where the text ends right behind a closing tag that a value speaks of."""
    written = [("f", {"a": value, "b": value})]
    text = FORMATS[name].write(written)

    for end in range(len(text) % EXTENT.prefix_step, len(text) + 1, EXTENT.prefix_step):
        for call in raw_calls(read_text(text[:end], TOOLS)):
            if isinstance(resolve_call(call, TOOLS), ToolCall):
                assert (call.name, arguments(call)) in written, text[:end]


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>f<arg_key>a</arg_key><arg_value>1</tool_call>",
        '<invoke name="f"><parameter name="a">1</invoke>',
        "<function=f>\n<parameter=a>\n1\n</function>",
    ],
)
def test_end_of_a_call_inside_an_open_value_at_the_end_of_the_text_ends_nothing(text: str) -> None:
    """A stop string may have struck at a tag that the value speaks of."""
    [call] = raw_calls(read_every_way(text))

    assert (call.closed, call.open_value) == (False, True)


def test_missing_closing_tag_is_tolerated_where_the_outer_tag_follows_the_end() -> None:
    """Then the call is known to be over."""
    text = '<minimax:tool_call><invoke name="f"><parameter name="a">1</invoke></minimax:tool_call>'

    [call] = raw_calls(read_every_way(text))

    assert (arguments(call), call.closed, call.notes) == ({"a": "1"}, True, ("missing_close",))
