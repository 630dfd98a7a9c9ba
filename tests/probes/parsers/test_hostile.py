"""Text that was made to hurt: it is read, in time and memory that grow with its length."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from probes.parsers import PARSERS
from probes.parsers.base import JsonText, RawCall
from probes.parsers.code_formats.pythonic import calls_in
from probes.parsers.context import MAX_CALLS
from probes.parsers.reader import TextReader, read_text
from probes.parsers.text_items import VisibleText, merge_items
from tests.extent import EXTENT
from tests.probes.parsers.read_helpers import TOOLS, raw_calls

PATTERNS = {
    "angle": "<",
    "bracket": "[",
    "brace": '{"a":',
    "tick": "`",
    "think": "</think>",
    "half_think": "<think></think>{",
    "wrapper": "<tool_call>\n",
    "json": '\n<tool_call>{"a":"',
    "qwen": "\n<tool_call>\n<function=f>\n<parameter=a>\n",
    "function": "<function=f>\n",
    "closers": "\n<function=f><parameter=a></parameter>x",
    "twins": "\n<function=f><parameter=a>\n</parameter>\n</parameter>x",
    "glm": "\n<tool_call>f<arg_key>a</arg_key><arg_value>",
    "keys": "\n<tool_call>f<arg_key>",
    "invoke": '\n<invoke name="f">',
    "children": "\n<invoke><f><a>",
    "dsml": '<｜DSML｜invoke name="f">',
    "k2": "<|tool_call_begin|>f<|tool_call_argument_begin|>{",
    "k3": '<|open|>call tool="f"<|sep|><|open|>argument key="a"<|sep|>',
    "m3": ']<]minimax[>[<invoke name="f">]<]minimax[>[<a>',
    "harmony": "<|channel|>analysis<|message|>",
    "recipient": "to=functions.f json{",
    "mistral": "[TOOL_CALLS]f{",
    "array": '{"name":"f","arguments":{}},',
    "python": "<|python_tag|>f(",
    "functools": '\nfunctools[{"name":"f","arguments":{"a":"',
    "granite": '<|tool_call|>[{"name":"f",',
    "cohere": '<|START_ACTION|>[{"tool_name":"f"}]',
    "command_r": '\nAction: ```json\n[{"tool_name":"f"},',
    "tool_calls": '\n<tool_calls>[{"name":"f"}',
    "answer": "\n<answer><tool_calls>{",
    "internlm": "<|action_start|><|plugin|>{",
    "apertus": '<|tools_prefix|>[{"f":{}},',
    "xlam": '{"tool_calls":[{"name":"f","arguments":{}},',
    "apriel": "[BEGIN FINAL RESPONSE]{",
    "gemma": '<|tool_call>call:f{a:<|"|>',
    "gemma_quotes": "<|tool_call>call:f{a:'\\'",
    "gemma_bare": "\ncall:f{a:[",
    "functiongemma": "<start_function_call>call:x{<escape>",
    "llama4": "<|python_start|>[f(a='",
    "lfm2": '<|tool_call_start|>[x(a="""',
    "olmo3": "\n<function_calls>f(a=1)\n#'",
    "olmo3_names": "\n<function_calls>x(",
    "tool_code": "\n```tool_code\nf(a='",
    "tool_code_names": "\n```tool_code\nx()\n```",
    "hunyuan": "<tool_calls:opensource><tool_call:opensource>f<tool_sep:opensource>",
    "hunyuan_keys": "\n<tool_calls><tool_call>f<tool_sep><arg_key>",
    "seed": "\n<seed:tool_call><function=f><parameter=a>",
    "step": '<｜tool_call_begin｜><steptml:invoke name="f"><steptml:parameter name="a">',
    "step_head": "<｜tool_calls_begin｜><｜tool_call_begin｜>",
    "minicpm": '\n<function name="f"><param name="a">',
    "muse": '<|start|>assistant to=f<|message|><atem:invoke name="f">',
    "muse_self": "<|start|>assistant to=self<|message|>",
    "inkling": "<|message_model|>f<|content_invoke_tool_json|>{",
    "inkling_head": "<|message_model|>f",
    "dots": '<dots_function_call><invoke name="f"><parameter name="a">',
    "gigachat": "<|function_call|>{",
    "solar": "<|tool_call:begin|>a<|tool_call:name|>f<|tool_call:args|>{",
    "solar2": "<|tool_call:start|>f\n<|tool_arg:start|>a<|tool_arg:value|>",
    "functionary": ">>>f\n{",
    "marks": ">",
    "flowers": "✿FUNCTION✿: f\n✿ARGS✿: {",
    "react": '\nAction: f\nAction Input: {"a',
    "names": "</think>f",
    "space": " \n",
    "tiny": '<tool_call>{"name":"f"}</tool_call>\n',
}
# Between ten, which is linear, and a hundred, which is the square.
BOUND = 45
# A busy moment of the machine spoils a round; code that takes the square fails every one.
ROUNDS = 4


@contextmanager
def collector_paused() -> Iterator[None]:
    # What a collection costs depends on all that the whole test run holds, so none is made here
    # either: it takes longer than the reading.
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def seconds(read: Callable[[str], object], text: str) -> float:
    start = time.process_time()
    read(text)
    return time.process_time() - start


def read_in_pieces(text: str, size: int) -> None:
    reader = TextReader(TOOLS)
    for at in range(0, len(text), size):
        reader.feed(text[at : at + size])
    reader.close()


def growth(read: Callable[[str], object], small: str, large: str) -> float:
    # How many times as long the large text takes, by the best of rounds; the first that meets the
    # bound is the last.
    fast = slow = float("inf")
    for _ in range(ROUNDS):
        fast = min(fast, *(max(seconds(read, small), 0.0005) for _ in range(3)))
        slow = min(slow, seconds(read, large))
        if slow < BOUND * fast:
            break
    return slow / fast


@pytest.mark.parametrize("size", [20, 10**9], ids=["pieces", "whole"])
@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS.keys())
def test_time_grows_with_length_not_with_its_square(pattern: str, size: int) -> None:
    """Ten times the text takes about ten times as long; a hundred times would be the square."""
    times = EXTENT.hostile_growth // len(pattern)
    small, large = pattern * (times // 10), pattern * times

    with collector_paused():
        assert growth(partial(read_in_pieces, size=size), small, large) < BOUND


@pytest.mark.parametrize("character", ["<", "[", "x", "\\", "</parameter>x"])
def test_long_body_arrives_whole(character: str) -> None:
    """One long value in small pieces is not copied for every piece."""
    value = character * (EXTENT.hostile_characters // len(character))
    reader = TextReader(TOOLS)
    found = reader.feed("<function=f>\n<parameter=a>\n")

    for at in range(0, len(value), 4096):
        found += reader.feed(value[at : at + 4096])
    found += reader.feed("x\n</parameter>\n</function>") + reader.close()

    call = raw_calls(found)[0]
    assert not isinstance(call.arguments, JsonText)
    assert call.arguments.items[0].value == value + "x"


@pytest.mark.parametrize("pattern", ["<", "[", '{"a":', "\0", "\ud800"])
def test_one_thing_over_and_over_is_text(pattern: str) -> None:
    """Nothing is found, nothing is lost, nothing breaks."""
    text = pattern * (EXTENT.hostile_characters // len(pattern))

    assert read_text(text, TOOLS) == [VisibleText(text)]


def test_no_call_runs_where_there_are_more_than_the_bound() -> None:
    """Ten thousand tiny calls run; of one more none does, and all stay in the text."""
    tiny = '<tool_call>{"name":"f"}</tool_call>\n'

    assert len(raw_calls(read_text(tiny * MAX_CALLS, TOOLS))) == MAX_CALLS
    assert read_text(tiny * (MAX_CALLS + 1), TOOLS) == [VisibleText(tiny * (MAX_CALLS + 1))]


def test_name_beyond_the_bound_is_no_call() -> None:
    """A name has at most 256 characters."""
    text = f'<tool_call>{{"name": "{"f" * 257}", "arguments": {{}}}}</tool_call>'

    assert read_text(text) == [VisibleText(text)]


@pytest.mark.parametrize(
    "text",
    [
        "[f(a=" + "-" * 900 + "1)]",
        "[f(a=" + "not " * 20_000 + "1)]",
        "[f(a=" + "1+" * 20_000 + "1)]",
        "[f" + ".a" * 50_000 + "()]",
        "[f(a=" + "9" * 5_000 + ")]",
        "[f(a=" + "lambda:" * 10_000 + "1)]",
        "[f(a=" + "x if y else " * 10_000 + "1)]",
        "[f(a=" + "~" * 50_000 + "1)]",
    ],
)
def test_python_that_is_nested_without_brackets_is_refused(text: str) -> None:
    """The compiler's own limits are no exception of ours."""
    assert calls_in(text) is None


@pytest.mark.parametrize("body", ["'\\'", '#"\\"', "f(a=1)#'\\'", '"""\\"""', "(in=", "#'\n"])
def test_python_with_open_strings_takes_no_time(body: str) -> None:
    """No string without an end is looked for twice."""
    text = f"<function_calls>f(a=\n{body * (200_000 // len(body))}\n)</function_calls>"
    start = time.process_time()

    read_text(text, TOOLS)

    assert time.process_time() - start < 5


def test_nothing_comes_after_close() -> None:
    """A reader that was closed stays closed."""
    reader = TextReader(TOOLS)
    reader.feed("Hello")

    assert merge_items(reader.close()) == [VisibleText("Hello")]
    assert reader.feed("more") == []
    assert reader.close() == []


def test_every_parser_is_registered_under_its_own_name() -> None:
    """The name a call carries is the name the format is asked for by."""
    assert {name: {parser.name for parser in group} for name, group in PARSERS.items()} == {
        name: {name} for name in PARSERS
    }


@pytest.mark.parametrize("format", PARSERS)
def test_raw_text_of_a_call_is_part_of_the_text(format: str) -> None:
    """Evidence quotes what was received."""
    text = 'x\n<tool_call>{"name":"f"}</tool_call>[TOOL_CALLS]f[ARGS]{}'

    for item in read_text(text, TOOLS, format=format):
        assert not isinstance(item, RawCall) or item.raw in text
