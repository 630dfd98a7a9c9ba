"""Text that the prompt had already begun: none of it is handed out, and nothing else is lost."""

from __future__ import annotations

import pytest

from probes.parsers.text_items import ReasoningText, TextItem, VisibleText
from tests.probes.parsers.read_helpers import calls, fed, read_every_way
from tests.probes.parsers.writers import FORMATS

START = "<|start|>assistant"
ANALYSIS = "<|channel|>analysis<|message|>The quick brown fox jumps over the dog.<|end|>"
FINAL = "<|channel|>final<|message|>The lazy dog sleeps in the sun today.<|return|>"
THOUGHT: list[TextItem] = [
    ReasoningText("The quick brown fox jumps over the dog.", complete=True),
    VisibleText("The lazy dog sleeps in the sun today."),
]


@pytest.mark.parametrize(
    "head", ["", "<|channel|>", "<|channel|>analysis", "<|channel|>analysis<|message|>"]
)
@pytest.mark.parametrize("before", ["", "<|start|>user<|message|>Hi<|end|>"])
def test_harmony_reasoning_is_whole_behind_any_part_of_its_header(before: str, head: str) -> None:
    """However much of the header the prompt gave, the reasoning loses no character."""
    text = f"{ANALYSIS.removeprefix(head)}{START}{FINAL}"

    assert read_every_way(text, prefill=before + START + head) == THOUGHT


@pytest.mark.parametrize("head", ["<|channel|>", "<|channel|>final<|message|>", ""])
def test_harmony_answer_is_whole_behind_any_part_of_its_header(head: str) -> None:
    """The same for the channel that people read."""
    text = FINAL.removeprefix(head)

    assert read_every_way(text, prefill=START + head) == THOUGHT[1:]


def test_harmony_reasoning_that_the_prompt_began_is_continued() -> None:
    """What the prompt put into the channel is not handed out again."""
    head = f"{START}<|channel|>analysis<|message|>The quick "

    found = read_every_way(f"{ANALYSIS[40:]}{START}{FINAL}", prefill=head)

    assert found == [ReasoningText("brown fox jumps over the dog.", complete=True), THOUGHT[1]]


@pytest.mark.parametrize(
    ("prefill", "text"),
    [
        ("<think>\n", "The quick</think>Hi"),
        ("<mm:think>", "The quick</mm:think>Hi"),
        ("[THINK]", "The quick[/THINK]Hi"),
        (
            '<|open|>message role="assistant"<|sep|><|open|>think<|sep|>',
            "The quick<|close|>think<|sep|><|open|>response<|sep|>Hi<|close|>response<|sep|>",
        ),
        ("<|start|>assistant to=self<|message|>", "The quick<|eom|>Hi"),
    ],
)
def test_reasoning_behind_a_prefilled_tag_is_whole(prefill: str, text: str) -> None:
    """White space that the prompt put behind the tag is not taken off the model's words."""
    found = read_every_way(text, prefill=prefill)

    assert found == [ReasoningText("The quick", complete=True), VisibleText("Hi")]


@pytest.mark.parametrize(
    "prefill", ["<tool_call>", "<tool_call>\n", "<|start|>assistant", "[TOOL_CALLS]"]
)
@pytest.mark.parametrize("text", ["No call comes here, dear user.", "No"])
def test_words_behind_a_prefilled_opening_are_whole(prefill: str, text: str) -> None:
    """A model that does not do what the prompt began says what it says."""
    assert read_every_way(text, prefill=prefill) == [VisibleText(text)]


@pytest.mark.parametrize(
    ("format", "head"),
    [
        ("hermes", "<tool_call>"),
        ("hermes", "<tool_call>\n"),
        ("qwen_xml", "<tool_call>\n"),
        ("qwen_xml", "<tool_call>\n<function=f>\n"),
        ("glm_45", "<tool_call>"),
        ("glm_47", "<tool_call>f"),
        ("invoke", '<invoke name="f">'),
        ("minimax_m2", "<minimax:tool_call>\n"),
        ("minimax_m2", '<minimax:tool_call>\n<invoke name="'),
        ("minimax_m3", "]<]minimax[>[<tool_call>\n"),
        ("deepseek_v3", "<｜tool▁calls▁begin｜>"),
        ("deepseek_v31", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f"),
        ("dsml", "<｜DSML｜tool_calls>\n"),
        ("kimi_k2", "<|tool_calls_section_begin|>"),
        ("kimi_k2", "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0"),
        ("kimi_k3", "<|open|>tools<|sep|>"),
        ("mistral_v11", "[TOOL_CALLS]"),
        ("llama_tag", "<|python_tag|>"),
        ("llama_function", "<function=f>"),
        ("harmony", "<|channel|>commentary to=functions.f"),
        ("name_arguments", "<tool_call>\n<name>"),
        ("child_invoke", "<invoke>\n"),
    ],
)
def test_call_behind_its_prefilled_opening_is_whole_and_so_is_what_follows(
    format: str, head: str
) -> None:
    """The prompt forces a call by its first tokens."""
    text = FORMATS[format].write([("f", {"a": "1"})])
    assert text.startswith(head)

    found = fed([text[len(head) :], "\nThe lazy dog sleeps in the sun."], prefill=head)

    assert calls(found) == [("f", {"a": "1"})]
    assert found[1:] == [VisibleText("\nThe lazy dog sleeps in the sun.")]
