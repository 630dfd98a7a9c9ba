"""What small models behind a prefilled `<tool_call>` write, and what only looks like it."""

from __future__ import annotations

import pytest

from probes.messages import ToolSpec
from probes.text_answer import read_text_answer

ADD = ToolSpec("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}})
CALL = '{"name": "add", "arguments": {"a": 1}}'


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_call_is_found_although_only_its_closing_tag_is_there(size: int) -> None:
    """The opening tag was the last word of the prompt."""
    text = f"{CALL}\n</tool_call>"
    found = read_text_answer([text[at : at + size] for at in range(0, len(text), size)], (ADD,))

    assert [(call.name, call.input) for call in found.calls] == [("add", {"a": 1})]
    assert found.text is None


@pytest.mark.parametrize("tail", ["", "\n</tool_call>"])
def test_a_repeated_declaration_is_no_call(tail: str) -> None:
    """It has a name and parameters, and a description, which no call has."""
    text = '{"name": "add", "description": "Adds.", "parameters": {"a": 1}}' + tail
    found = read_text_answer([text], (ADD,))

    assert (found.calls, found.broken, found.text) == ((), (), text)


def test_words_behind_the_closing_tag_make_it_prose() -> None:
    """Only a text that is nothing but the call is taken for one."""
    found = read_text_answer([f"{CALL}\n</tool_call> and so on"], (ADD,))

    assert found.calls == ()
