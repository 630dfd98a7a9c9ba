"""Where markup counts as a call and where it is prose."""

from __future__ import annotations

import pytest

from probes.messages import ToolSpec
from probes.parsers.text_items import VisibleText
from tests.probes.parsers.read_helpers import calls, raw_calls, read_every_way, text_of


@pytest.mark.parametrize(
    "text", ["I look.", "Gut!", "好的。", "Right: ", "I look. ", "看：", "🙂 "]
)
@pytest.mark.parametrize(
    "call",
    [
        "<tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>",
        '<tool_call>{"name": "f", "arguments": {"a": "1"}}</tool_call>',
        "<function=f><parameter=a>1</parameter></function>",
    ],
)
def test_whole_call_behind_a_sentence_or_a_colon_is_a_call(text: str, call: str) -> None:
    """Not every model puts a line break before it."""
    found = read_every_way(text + call)

    assert (text_of(found), calls(found)) == (text, [("f", {"a": "1"})])


@pytest.mark.parametrize(
    "text",
    [
        "It ends.<tool_call>unheard_of<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>",
        "It ends.<tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value>",
        'I say <tool_call>{"name": "f", "arguments": {}}</tool_call>',
        'I say "<tool_call>{"name": "f", "arguments": {}}</tool_call>',
        '- <tool_call>{"name": "f", "arguments": {}}</tool_call>',
        'It ends.<tool_call>{"name": "f", "arguments": {}}</tool_call>, as I said.',
    ],
)
def test_anything_less_in_the_middle_of_a_line_is_prose(text: str) -> None:
    """Not declared, not whole, not behind a sentence, or followed by words."""
    assert read_every_way(text) == [VisibleText(text)]


@pytest.mark.parametrize(
    "call",
    [
        '<tool_call>\n{"name": "unheard_of", "arguments": {"a": "1"}}\n</tool_call>',
        "<tool_call>\n<function=unheard_of>\n<parameter=a>\n1\n</parameter>\n</function>\n"
        "</tool_call>",
        "<tool_call>unheard_of<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>",
        '<minimax:tool_call><invoke name="unheard_of"><parameter name="a">1</parameter></invoke>'
        "</minimax:tool_call>",
        '<tool_call><name>unheard_of</name><arguments>{"a": "1"}</arguments></tool_call>',
        '[TOOL_CALLS]unheard_of[ARGS]{"a": "1"}',
        "<tool_calls><tool_call>unheard_of<tool_sep><arg_key>a</arg_key><arg_value>1</arg_value>"
        "</tool_call></tool_calls>",
        "<seed:tool_call><function=unheard_of><parameter=a>1</parameter></function>"
        "</seed:tool_call>",
        '<function name="unheard_of"><param name="a">1</param></function>',
        '<dots_function_call><invoke name="unheard_of"><parameter name="a">1</parameter></invoke>'
        "</dots_function_call>",
        '✿FUNCTION✿: unheard_of\n✿ARGS✿: {"a": "1"}',
    ],
)
def test_whole_call_of_an_undeclared_tool_is_handed_on_unless_words_stand_before(call: str) -> None:
    """Alone it is a call that the ladder answers; behind words it may be an example."""
    assert calls(read_every_way(call)) == [("unheard_of", {"a": "1"})]
    assert read_every_way(f"So it looks:\n{call}") == [VisibleText(f"So it looks:\n{call}")]
    assert raw_calls(read_every_way(f"<think>{call}</think>")) == []


@pytest.mark.parametrize(
    "text",
    [
        'It ends.<tool_call>{"name": "f", "arguments": {"a": "1"}}',
        'It ends.<tool_calls>[{"name": "f", "arguments": {"a": "1"}}]',
        'It ends.<TOOLCALL>[{"name": "unheard_of", "arguments": {"a": "1"}}]</TOOLCALL>',
        '<tool_call>{"name": "unheard_of", "arguments": {"a": "1"}}',
        'So it looks: functools[{"name": "f", "arguments": {"a": "1"}}]',
        'functools.partial and functools["name"]',
        "<|tool_call|> is what Granite writes",
        "<|START_ACTION|> opens a list",
        '<|action_start|><|interpreter|>\n```python\nprint({"a": 1})\n```<|action_end|>',
        '<|tools_prefix|>[{"name": "f", "arguments": {"a": "1"}}]<|tools_suffix|>',
        '<answer>{"name": "f", "arguments": {"a": "1"}}</answer>',
        'Action:\n```json\n[{"tool_name": "unheard_of", "parameters": {}}]\n```',
        '{"tool_calls": [], "thought": "Nothing to do."}',
        '{"tool_calls": 3}',
    ],
)
def test_what_is_no_call_stays_in_the_text(text: str) -> None:
    """Nothing is dropped where nothing is handed out."""
    assert read_every_way(text) == [VisibleText(text)]


@pytest.mark.parametrize("call", ["<tool_calls>{}</tool_calls>", "<TOOLCALL>{}</TOOLCALL>"])
def test_jamba_and_nemotron_put_no_line_break_before_their_calls(call: str) -> None:
    """A whole call of a declared tool right behind a sentence counts."""
    text = call.format('[{"name": "f", "arguments": {"a": "1"}}]')

    found = read_every_way(f"I look.{text}")

    assert (text_of(found), calls(found)) == ("I look.", [("f", {"a": "1"})])


@pytest.mark.parametrize("name", ["directly_answer", "directly-answer"])
def test_command_r_without_a_tool_is_no_call(name: str) -> None:
    """Its name for "no tool" is neither a call nor text, unless a tool is declared so."""
    none = f'{{"tool_name": "{name}", "parameters": {{}}}}'
    both = f'Action: ```json\n[{none}, {{"tool_name": "f", "parameters": {{"a": "1"}}}}]\n```'
    alone = f"Action: ```json\n[{none}]\n```"

    assert read_every_way(alone) == []
    assert calls(read_every_way(both)) == [("f", {"a": "1"})]
    assert calls(read_every_way(alone, [ToolSpec("directly_answer", "", None)])) == [(name, {})]


@pytest.mark.parametrize(
    "text",
    [
        "Action: unheard_of\nAction Input: {}",
        "Action: f\nAction Input: the weather in Lyon",
        "The next step is Action: f\nAction Input: {}",
        "Action: f\nWe close the ticket.",
        ">>> f\n{'a': 1}",
        ">>>unheard_of\n{}",
        ">>>f\nis what it prints",
        "f\n{} is a set",
        "all\nof them",
        "to=f is an option",
        "unheard_of\n{}",
    ],
)
def test_plain_words_that_only_resemble_a_call_are_prose(text: str) -> None:
    """ReAct and Functionary need a declared name, JSON, and nothing in between."""
    assert read_every_way(text) == [VisibleText(text)]


def test_call_behind_a_made_up_result_does_not_count() -> None:
    """No tool gave the result that it follows from. Where the format was not chosen, nothing does:
    the text may be a transcript that is quoted.
    """
    call = 'Action: f\nAction Input: {"a": "1"}\n'
    text = f"{call}Observation: 2\n{call}"

    chosen = read_every_way(text, format="react")

    assert calls(chosen) == [("f", {"a": "1"})]
    assert text_of(chosen) == f"\nObservation: 2\n{call}"
    assert raw_calls(read_every_way(text)) == []
