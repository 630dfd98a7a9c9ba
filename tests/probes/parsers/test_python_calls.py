"""Calls in Python between tags: strings, comments, stop tokens, and what is no call."""

from __future__ import annotations

import pytest

from probes.parsers.text_items import VisibleText
from probes.text_answer import read_text_answer
from tests.probes.parsers.read_helpers import TOOLS, calls, raw_calls, read_every_way, text_of

LFM2 = ("<|tool_call_start|>", "<|tool_call_end|>")
LLAMA4 = ("<|python_start|>", "<|python_end|>")
OLMO3 = ("<function_calls>\n", "\n</function_calls>")
TOOL_CODE = ("```tool_code\n", "\n```")
TAGS = {"lfm2": LFM2, "llama4": LLAMA4, "olmo3": OLMO3, "tool_code": TOOL_CODE}
every_tag = pytest.mark.parametrize("tags", TAGS.values(), ids=TAGS.keys())


@every_tag
@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("'''a\n```\n'b' \"c\" ) ]'''", "a\n```\n'b' \"c\" ) ]"),
        ('"""x\\""""', 'x"'),
        ("'it\\'s )'", "it's )"),
        ("''", ""),
        ("'a' # it's a comment )\n", "a"),
        ("{'k': [1, (2, None), true]}", {"k": [1, [2, None], True]}),
        ("-1.5", -1.5),
        ("'# no comment, from=1'", "# no comment, from=1"),
    ],
)
def test_literals_are_read_to_their_end(tags: tuple[str, str], written: str, value: object) -> None:
    """Quotation marks, brackets and end tags inside a literal belong to it."""
    found = read_every_way(f"{tags[0]}f(a={written}){tags[1]}")

    assert calls(found) == [("f", {"a": value})]
    assert text_of(found) == ""


@every_tag
@pytest.mark.parametrize("separator", ["\n", ", ", "\n\n", "; ", "\n# it's the other\n"])
def test_calls_stand_apart_in_any_way(tags: tuple[str, str], separator: str) -> None:
    """A line, a comma, a semicolon, a comment, and no brackets around them."""
    found = read_every_way(f"{tags[0]}f(a=1){separator}g(){tags[1]}")

    assert calls(found) == [("f", {"a": 1}), ("g", {})]


@every_tag
def test_reserved_words_are_names_of_arguments(tags: tuple[str, str]) -> None:
    """Tools have parameters that Python could not name."""
    found = read_every_way(f"{tags[0]}f(from='a', in = 2, class=[1]){tags[1]}")

    assert calls(found) == [("f", {"from": "a", "in": 2, "class": [1]})]


@every_tag
def test_a_raw_line_break_in_a_string_is_noted(tags: tuple[str, str]) -> None:
    """Python has none there, but LFM2's own template writes them."""
    found = read_every_way(f"{tags[0]}f(a='one\n  two\0001'){tags[1]}")

    assert calls(found) == [("f", {"a": "one\n  two\0001"})]
    assert raw_calls(found)[0].notes == ("control_characters",)


@every_tag
@pytest.mark.parametrize(
    "call", ["f('x')", "f(a=x)", "f(a=1 + 1)", "f(a=b'x')", "f(a=1e999)", "f(a='it's')", "f(a=[1)"]
)
def test_a_declared_call_without_literals_is_broken(tags: tuple[str, str], call: str) -> None:
    """Whoever wrote it is told; it is neither executed nor shown as text."""
    answer = read_text_answer([f"{tags[0]}{call}{tags[1]}"], TOOLS)

    assert not answer.calls
    assert [broken.name for broken in answer.broken] == ["f"]
    assert answer.text is None


@every_tag
@pytest.mark.parametrize(
    "body",
    ["import os\nprint(os.getcwd())", "x = 1", "print('hi')", "[]", "1 + 1", "f", "f(a=1).g()"],
)
def test_other_code_is_text(tags: tuple[str, str], body: str) -> None:
    """Code that is not a list of calls is shown as it is."""
    text = f"{tags[0]}{body}{tags[1]}"

    assert read_every_way(text) == [VisibleText(text)]


@every_tag
def test_code_is_text_where_the_tools_are_not_known(tags: tuple[str, str]) -> None:
    """A call with literals counts without tools; other code says nothing."""
    text = f"{tags[0]}print(x){tags[1]}"

    assert read_every_way(text, ()) == [VisibleText(text)]


@pytest.mark.parametrize("stop", ["<|eot|>", "<|eom|>", "<|eot_id|>", "<|python_end|><|eot|>\n"])
def test_stop_tokens_do_not_hinder_a_bare_list(stop: str) -> None:
    """They are passed, and are no text."""
    found = read_every_way(f"[f(a=1), g()]{stop}")

    assert calls(found) == [("f", {"a": 1}), ("g", {})]
    assert text_of(found) == ""


def test_reserved_words_are_read_in_a_bare_list() -> None:
    """The name of the argument is the one that was written."""
    written = """[f(from='(in=1', a='''x\\'(as=1''')]"""

    assert calls(read_every_way(written)) == [("f", {"from": "(in=1", "a": "x'(as=1"})]


def test_stop_tokens_in_a_value_belong_to_it() -> None:
    """Only those behind the list are dropped."""
    assert calls(read_every_way("[f(a='<|eot|>')]<|eot|>")) == [("f", {"a": "<|eot|>"})]


@pytest.mark.parametrize("stop", ["<|eot|>", "<|eom|>", "<|python_end|><|eom|>", ""])
def test_llama_4_ends_its_calls_with_any_of_its_tokens(stop: str) -> None:
    """The end token of the calls may be missing, or more may follow."""
    found = read_every_way(f"<|python_start|>[f(a=1)]{stop}")

    assert calls(found) == [("f", {"a": 1})]
    assert text_of(found) == ""


def test_text_behind_a_list_without_end_token_stays_text() -> None:
    """The list's own bracket ends it."""
    found = read_every_way("<|tool_call_start|>[f(a=1)]\nI look.", format="lfm2")

    assert calls(found) == [("f", {"a": 1})]
    assert raw_calls(found)[0].notes == ("missing_close",)
    assert text_of(found) == "\nI look."


def test_a_code_block_of_another_kind_is_text() -> None:
    """Only `tool_code` says that the code is a call."""
    for info in ("python", "tool_codes", ""):
        text = f"```{info}\nf(a=1)\n```"
        assert read_every_way(text) == [VisibleText(text)]


def test_code_blocks_behind_one_another_are_all_read() -> None:
    """A block that text follows is an example."""
    block = "```tool_code\nf(a=1)\n```"
    text = f"{block}\nand\n```sh\nls\n```\n"

    found = read_every_way(f"{text}{block}\n{block}")

    assert calls(found) == [("f", {"a": 1})] * 2
    assert text_of(found) == text


def test_a_namespace_in_front_of_a_declared_name_is_known() -> None:
    """Gemini's code blocks call `default_api.f`."""
    [call] = read_text_answer(["```tool_code\nprint(default_api.f(a=1))\n```"], TOOLS).calls

    assert (call.name, call.repairs) == ("f", ("name_prefix",))
