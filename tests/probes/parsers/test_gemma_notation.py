"""Gemma's notation: what becomes JSON, what stays as it was written, and what is no call."""

from __future__ import annotations

import pytest

from probes.messages import ToolCall, ToolSpec
from probes.parsers.code_formats.gemma_notation import as_json
from probes.parsers.text_items import VisibleText
from probes.text_answer import read_text_answer
from tests.probes.parsers.read_helpers import TOOLS, calls, raw_calls, read_every_way, text_of

Q = '<|"|>'


@pytest.mark.parametrize(
    ("written", "json"),
    [
        ("{}", "{}"),
        (f"{{a:{Q}x{Q},b:-1.5e3}}", '{"a":"x","b":-1.5e3}'),
        (f"{{ a : {Q}x{Q} , b : true }}", '{ "a": "x" , "b": true }'),
        (f"{{{Q}a b{Q}:[{Q}{{{Q},null]}}", '{"a b":["{",null]}'),
        (f'{{a:{Q}say "hi"\n\\n{Q}}}', '{"a":"say \\"hi\\"\\n\\\\n"}'),
        ('{"a": "it, is: {x}"}', '{"a": "it, is: {x}"}'),
        ("{a:'x, y'}", "{\"a\":'x, y'}"),
        ("{a:{b:{c:[]}}}", '{"a":{"b":{"c":[]}}}'),
        (f"{{a:{Q}cut", '{"a":"cut'),
        ("{a:Paris}", '{"a":Paris}'),
    ],
)
def test_the_notation_becomes_json(written: str, json: str) -> None:
    """Only strings and keys change; whatever else was written is left for the ladder to judge."""
    assert as_json(written, Q) == json


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"{{a:{Q}one <tool_call|> two{Q}}}", {"a": "one <tool_call|> two"}),
        (f"{{a:{Q}<|tool_call>call:g{{}}{Q}}}", {"a": "<|tool_call>call:g{}"}),
        ('{"a": "x }", "b": [1, {"c": "]"}]}', {"a": "x }", "b": [1, {"c": "]"}]}),
        ('{a:"it\\"s }"}', {"a": 'it"s }'}),
        (f"\n{{a:{Q}x{Q}}}\n".strip(), {"a": "x"}),
    ],
)
def test_brackets_and_tokens_in_strings_do_not_end_a_call(body: str, expected: object) -> None:
    """A call ends behind the brace that closes it."""
    found = read_every_way(f"<|tool_call>call:f{body}<tool_call|>")

    assert calls(found) == [("f", expected)]
    assert text_of(found) == ""


@pytest.mark.parametrize(
    "text",
    [
        f"<|tool_call>:call:f{{a:{Q}x{Q}}}<tool_call|>",
        f"<|tool_call> call: f {{a:{Q}x{Q}}} <tool_call|>",
        f"<|tool_call>call:f{{a:{Q}x{Q}}}",
        f"call:f{{a:{Q}x{Q}}}",
        f"<|channel>thought\n<channel|>call:f{{a:{Q}x{Q}}}<tool_call|>",
    ],
)
def test_what_models_do_to_the_head_is_tolerated(text: str) -> None:
    """A second colon, blanks, and a lost special token."""
    found = read_every_way(text)

    assert calls(found) == [("f", {"a": "x"})]
    assert text_of(found) == ""


@pytest.mark.parametrize(
    "text",
    [
        "call:unheard_of{a:1}",
        "You can call:f{a:1} whenever you like.",
        "call: f is what I would do {if asked}",
        "`call:f{a:1}`",
        "call:f(a=1)",
        "<|tool_call> opens a call in Gemma 4.",
        "<start_function_call> and <end_function_call> are tokens.",
    ],
)
def test_prose_about_the_notation_is_prose(text: str) -> None:
    """Without its token a call needs the start of a line and a declared name."""
    assert read_every_way(text) == [VisibleText(text)]


def test_a_bare_call_needs_declared_tools() -> None:
    """Where the tools are not known, the words alone say too little."""
    assert read_every_way("call:f{a:1}", ()) == [VisibleText("call:f{a:1}")]


@pytest.mark.parametrize("body", ["{a:Paris}", f"{{a:{Q}x}}", "{a:1", f"{{a:{Q}x{Q}b:1}}"])
def test_arguments_that_cannot_be_read_are_a_broken_call(body: str) -> None:
    """A bare word, a lost token, a lost brace, a lost comma: nothing is guessed."""
    answer = read_text_answer([f"<|tool_call>call:f{body}<tool_call|>"], TOOLS)

    assert not answer.calls
    assert [broken.name for broken in answer.broken] == ["f"]


def test_single_quotes_are_repaired_by_name() -> None:
    """Gemma 4 writes them now and then; the ladder says that it read them."""
    tools = (ToolSpec("f", "", None),)

    [call] = read_text_answer(["<|tool_call>call:f{a:'x, y'}<tool_call|>"], tools).calls

    assert isinstance(call, ToolCall)
    assert (call.input, call.repairs) == ({"a": "x, y"}, ("python_literals",))


def test_a_call_without_end_tag_before_the_next_one_is_noted() -> None:
    """Both are found, and the first says what it lacked."""
    found = read_every_way("<|tool_call>call:f{a:1}<|tool_call>call:g{}<tool_call|>")

    assert calls(found) == [("f", {"a": 1}), ("g", {})]
    assert [call.notes for call in raw_calls(found)] == [("missing_close",), ()]
