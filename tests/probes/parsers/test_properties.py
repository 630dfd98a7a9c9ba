"""Promises about any text, not only about samples."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from probes.parsers.base import RawCall
from probes.parsers.reader import _vocabulary, read_text
from probes.parsers.text_items import VisibleText
from tests.probes.parsers.read_helpers import TOOLS, fed
from tests.probes.parsers.writers import FORMATS

WORDS = sorted(_vocabulary("auto")[1].words)
TAGS = [
    "</tool_call>", "</function>", "</parameter>", "<parameter=a>", "f>", "<arg_key>a</arg_key>",
    "<arg_value>", "</arg_value>", "</invoke>", '"f">', '<parameter name="a">', '{"name": "f"',
    ', "arguments": {"a": 1}}', '"', "\\", "[ARGS]", "<|message|>", "<|call|>", "<|tool_call_end|>",
    "functions.f:0<|tool_call_argument_begin|>", "<｜tool▁sep｜>", "```json\n", "\n", " ", "f", "}",
    ']<]minimax[>[<a>', ']<]minimax[>[</a>', 'tool="f"<|sep|>', '<|close|>call<|sep|>', "f(a=1)]",
    'call:f{a:<|"|>', '<|"|>}', "<tool_call|>", "call:f{a:<escape>", "<escape>}", "[f(a='", "')]",
    "<|python_end|>", "f(a=1)\n", "</function_calls>", "```tool_code\n", "```", "'''", "#",
    "print(", "f(in=",
    "f<tool_sep>", "<tool_sep:opensource>", "<arg_key:opensource>a</arg_key:opensource>",
    "<arg_value:opensource>", "</arg_value:opensource>", "</tool_call:opensource>",
    "</seed:tool_call>", "function<｜tool_sep｜>", '<steptml:parameter name="a">',
    "</steptml:parameter>", "</steptml:invoke>", '<param name="a">', "</param>", "<![CDATA[",
    "]]>", '<atem:parameter name="a">', "</atem:parameter>", "</atem:invoke>", " to=self", " to=f",
    "assistant to=f<|message|>", "<|eom|>", "f<|content_invoke_tool_json|>", "<|end_message|>",
    "</dots_function_call>", "<|role_sep|>", "<|tool_call:name|>f", "<|tool_call:args|>{}",
    "<|tool_call:end|>", "<|tool_arg:start|>a", "<|tool_arg:value|>", "<|tool_arg:end|>", "all\n",
    "f\n{", ": f\n", "✿ARGS✿: {}", "✿RESULT✿", "Action Input: {}", "Observation: x\n",
]  # fmt: skip

plain = st.text(st.characters(exclude_characters="<[]{}`=|"), max_size=60)
anything = st.text(st.characters(codec=None), max_size=80)
soup = st.lists(st.sampled_from(WORDS + TAGS) | plain, max_size=12).map("".join)
call = st.builds(
    lambda format, value: format.write([("f", {"a": value})]),
    st.sampled_from(list(FORMATS.values())),
    st.text(max_size=20),
)
mixture = st.lists(soup | call | plain, max_size=4).map("\n".join)
cuts = st.lists(st.integers(1, 20), max_size=60)


def cut(text: str, sizes: list[int]) -> list[str]:
    pieces: list[str] = []
    for size in sizes:
        pieces.append(text[:size])
        text = text[size:]
    return [*pieces, text]


@given(mixture | soup, cuts, st.booleans(), st.sampled_from(["", "<think>"]))
def test_any_split_gives_the_same(
    text: str, sizes: list[int], truncated: bool, prefill: str
) -> None:
    """What is found depends on the text, never on the pieces."""
    options: dict[str, Any] = {"truncated": truncated, "prefill": prefill}

    assert fed(cut(text, sizes), **options) == read_text(text, TOOLS, **options)


@given(mixture | soup)
def test_one_character_at_a_time_gives_the_same(text: str) -> None:
    """The smallest pieces there are make no difference."""
    assert fed(list(text)) == read_text(text, TOOLS)


@given(mixture | soup)
def test_without_tools_any_split_gives_the_same(text: str) -> None:
    """The gate of declared names is not what makes it so."""
    assert fed(list(text), ()) == read_text(text)


@given(anything | soup, st.sampled_from(["auto", *(format.name for format in FORMATS.values())]))
def test_no_text_raises(text: str, format: str) -> None:
    """NUL, lone surrogates, half tags: all are text."""
    read_text(text, TOOLS, format=format)


@given(plain)
def test_text_without_markup_is_exactly_itself(text: str) -> None:
    """Prose comes out verbatim, and nothing else does."""
    assert read_text(text, TOOLS) == ([VisibleText(text)] if text else [])


@given(anything)
def test_nothing_is_lost_where_nothing_was_found(text: str) -> None:
    """Text in which no call and no reasoning was found is all still there."""
    found = read_text(text, TOOLS)

    if all(isinstance(item, VisibleText) for item in found) and "think" not in text:
        assert "".join(item.text for item in found if isinstance(item, VisibleText)) == text


@given(mixture, st.data())
def test_cut_text_has_no_open_call_that_looks_closed(text: str, data: st.DataObject) -> None:
    """Whatever is unclosed under a length limit is marked as open."""
    end = data.draw(st.integers(0, len(text)))

    for item in read_text(text[:end], TOOLS, truncated=True):
        if isinstance(item, RawCall) and not item.closed:
            assert item.open_value
