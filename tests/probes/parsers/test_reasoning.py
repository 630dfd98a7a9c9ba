from __future__ import annotations

import pytest

from probes.messages import Location
from probes.parsers.output import MAX_HELD
from probes.parsers.reader import TextReader, read_text
from probes.parsers.text_items import ReasoningText, VisibleText
from tests.probes.parsers.read_helpers import TOOLS, calls, raw_calls, read_every_way, text_of
from tests.probes.parsers.writers import hermes

CALL = hermes([("f", {"a": "1"})])


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("<think>", "</think>"),
        ("<mm:think>", "</mm:think>"),
        ("[THINK]", "[/THINK]"),
        ("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
        ("<|channel>thought", "<channel|>"),
        ("<|channel|>analysis<|message|>", "<|end|>"),
        ("<|START_THINKING|>", "<|END_THINKING|>"),
        ("<longcat_think>", "</longcat_think>"),
        ("<|inner_prefix|>", "<|inner_suffix|>"),
        ("<think:opensource>", "</think:opensource>"),
        ("<seed:think>", "</seed:think>"),
        ("<|think|>", "<|end|>"),
        ("<|content_thinking|>", "<|end_message|>"),
        ("<thinking>", "</thinking>"),
        ("<thought>", "</thought>"),
        ("<reasoning>", "</reasoning>"),
        ("◁think▷", "◁/think▷"),
        ("Here is my thought process:", "Here is my response:"),
        ("Here's my thought process:", "Here's my response:"),
        ("<|start|>assistant to=self<|message|>", "<|eom|>"),
        (" to=self<|message|>", "<|eom|>"),
    ],
)
def test_reasoning_between_tags_is_told_from_text(opening: str, closing: str) -> None:
    """Every vendor's tags, and what stands between them verbatim."""
    assert read_every_way(f"{opening}\nhm \n{closing}Hello") == [
        ReasoningText("\nhm \n", complete=True),
        VisibleText("Hello"),
    ]


def test_apriel_marks_only_the_end_of_its_reasoning() -> None:
    """The prompt opens it in plain words; the marks around the answer are no text."""
    assert read_every_way("hm\n[BEGIN FINAL RESPONSE]\nHello\n[END FINAL RESPONSE]") == [
        ReasoningText("hm\n", complete=True),
        VisibleText("\nHello\n"),
    ]


def test_words_that_open_reasoning_are_text_in_the_middle_of_an_answer() -> None:
    """Granite begins its turn with them."""
    text = "Well. Here is my thought process: none. Here is my response: none either."

    assert read_every_way(text) == [VisibleText(text)]


def test_answer_behind_reasoning_loses_its_tags() -> None:
    """Elsewhere they are text."""
    assert read_every_way("<think>hm</think>\n<answer>\nHello</answer>") == [
        ReasoningText("hm", complete=True),
        VisibleText("\n\nHello"),
    ]
    text = "Put <answer>Hello</answer> there."
    assert read_every_way(text) == [VisibleText(text)]


def test_cohere_puts_marks_around_its_answer() -> None:
    """They are markup, whichever pair it is."""
    for word in ("RESPONSE", "TEXT"):
        assert read_every_way(f"<|START_{word}|>Hello<|END_{word}|>") == [VisibleText("Hello")]


def test_prefilled_opening_makes_the_text_start_inside_reasoning() -> None:
    """What the prompt opened, the text closes; the prefill itself is not the model's text."""
    assert read_every_way("hm</think>Hello", prefill="<|im_start|>assistant\n<think>\n") == [
        ReasoningText("hm", complete=True),
        VisibleText("Hello"),
    ]


def test_prefilled_opening_that_is_never_closed_is_all_reasoning() -> None:
    """With the opening tag in the prompt, text without a closing one never became visible."""
    assert read_every_way("still thinking", prefill="<think>") == [ReasoningText("still thinking")]


def test_prefilled_opening_of_a_call_is_continued() -> None:
    """A forced call whose opening stood in the prompt is read whole."""
    found = read_every_way(
        '{"name": "f", "arguments": {"a": 1}}</tool_call>', prefill="<tool_call>\n"
    )

    assert calls(found) == [("f", {"a": 1})]


def test_prefilled_empty_thinking_says_nothing_about_the_text() -> None:
    """A closed think section in the prompt is over."""
    text = "Hello there"

    assert read_every_way(text, prefill="<think>\n\n</think>\n\n") == [VisibleText(text)]


def test_lone_closing_tag_makes_what_came_before_it_reasoning() -> None:
    """The opening tag was in the prompt and nobody said so."""
    assert read_every_way("so, hm\n</think>\n\nHello") == [
        ReasoningText("so, hm\n", complete=True),
        VisibleText("\n\nHello"),
    ]


def test_lone_closing_tag_at_the_start_is_swallowed() -> None:
    """Non-thinking templates make models begin with it."""
    assert read_every_way("</think>Hello") == [VisibleText("Hello")]


def test_lone_closing_tag_behind_a_call_makes_the_call_reasoning() -> None:
    """The call was only considered."""
    found = read_every_way(f"Look.\n{CALL}\nso </think> Hello")

    assert found == [
        ReasoningText(f"Look.\n{CALL}\nso ", complete=True),
        VisibleText(" Hello"),
    ]


def test_call_that_ends_reasoning_which_the_prompt_opened_can_run() -> None:
    """Nothing but the closing tag follows it."""
    found = read_every_way(f"Look.\n{CALL}\n</think>\n")

    assert [call.location for call in raw_calls(found)] == [Location.REASONING]
    assert text_of(found) == ""


def test_lone_closing_tag_that_comes_too_late_is_text() -> None:
    """No more than 64 KiB are held for it."""
    text = "x" * (MAX_HELD + 1) + "</think>Hello"

    assert read_text(text, TOOLS) == [VisibleText(text)]


def test_lone_closing_tag_in_backticks_is_text() -> None:
    """Prose about the tag is prose."""
    text = "The tag `</think>` ends it."

    assert read_every_way(text) == [VisibleText(text)]


def test_duplicate_closing_tag_is_swallowed() -> None:
    """The second one closes nothing and is not shown."""
    assert read_every_way("<think>hm</think>\n</think>Hello") == [
        ReasoningText("hm", complete=True),
        VisibleText("Hello"),
    ]


def test_empty_reasoning_is_not_absent() -> None:
    """Thought nothing and did not think differ."""
    assert read_every_way("<think></think>Hello") == [
        ReasoningText("", complete=True),
        VisibleText("Hello"),
    ]


def test_reasoning_that_is_cut_off_is_incomplete() -> None:
    """A text may end before its reasoning does."""
    assert read_every_way("<think>so, hm") == [ReasoningText("so, hm", complete=False)]


def test_think_tag_in_the_middle_of_prose_is_prose() -> None:
    """Reasoning opens the text or follows a call; elsewhere the tag is only spoken of."""
    text = "A model writes <think> and then its thoughts."

    assert read_every_way(text) == [VisibleText(text)]


def test_think_tag_at_the_start_of_a_later_line_opens_reasoning_that_is_closed() -> None:
    """What stands before it was said, not thought."""
    assert read_every_way("Hi.\n<think>C</think>\nD") == [
        VisibleText("Hi.\n"),
        ReasoningText("C", complete=True),
        VisibleText("\nD"),
    ]
    assert read_every_way("<think>A</think>\nHi.\n<think>B</think>\nD") == [
        ReasoningText("A", complete=True),
        VisibleText("\nHi.\n"),
        ReasoningText("B", complete=True),
        VisibleText("\nD"),
    ]


def test_think_tag_that_is_never_closed_is_text_in_the_middle_of_an_answer() -> None:
    """Nothing is hidden from the reader by a tag that is spoken of."""
    text = "It writes\n<think>\nand then its thoughts."

    assert read_every_way(text) == [VisibleText(text)]


@pytest.mark.parametrize("fence", ["```py\nx = 1\n```", "```py\nx = 1", "see ```py\nx = 1"])
def test_code_block_in_reasoning_that_the_prompt_opened_does_not_hide_its_end(fence: str) -> None:
    """Closed or not."""
    found = read_every_way(f"hm\n{fence}\n</think>\n{CALL}")

    assert found[0] == ReasoningText(f"hm\n{fence}\n", complete=True)
    assert calls(found) == [("f", {"a": "1"})]


def test_think_tags_in_a_code_block_are_text() -> None:
    """Both are quoted."""
    text = "So:\n```\n<think>\nhm\n</think>\n```\n"

    assert read_every_way(text) == [VisibleText(text)]


def test_think_tag_behind_a_call_opens_reasoning_again() -> None:
    """Interleaved thinking: reasoning, call, reasoning, call."""
    found = read_every_way(f"<think>a</think>{CALL}\n<think>b</think>{CALL}")

    assert [item for item in found if isinstance(item, ReasoningText)] == [
        ReasoningText("a", complete=True),
        ReasoningText("b", complete=True),
    ]
    assert calls(found) == [("f", {"a": "1"})] * 2
    assert text_of(found) == ""


def test_words_behind_interleaved_thinking_make_the_call_a_quotation() -> None:
    """The order of text and reasoning stays."""
    found = read_every_way(f"<think>a</think>{CALL}\n<think>b</think>Hello")

    assert found == [
        ReasoningText("a", complete=True),
        VisibleText(f"{CALL}\n"),
        ReasoningText("b", complete=True),
        VisibleText("Hello"),
    ]


def test_line_break_behind_the_call_of_a_thinking_model_is_layout() -> None:
    """Reasoning before a call does not make the white space behind it text."""
    assert text_of(read_every_way(f"<think>a</think>\n\n{CALL}\n")) == ""


def test_text_is_handed_out_at_once_where_no_lone_closing_tag_is_awaited() -> None:
    """Only what may become a tag waits."""
    reader = TextReader(TOOLS, lone_close=False)

    assert reader.feed("Hello <to") == [VisibleText("Hello ")]
    assert reader.feed("day") == [VisibleText("<today")]


def test_harmony_channels_become_reasoning_text_and_calls() -> None:
    """Analysis is reasoning, a commentary without recipient a preamble."""
    found = read_every_way(
        "<|channel|>analysis<|message|>hm<|end|>"
        "<|start|>assistant<|channel|>commentary<|message|>Let me see.<|end|>"
        "<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json"
        '<|message|>{"a":1}<|call|>'
    )

    assert found[0] == ReasoningText("hm", complete=True)
    assert found[1] == VisibleText("Let me see.")
    assert calls(found) == [("f", {"a": 1})]
    assert len(found) == 3


@pytest.mark.parametrize(
    "text",
    [
        "<|think|>hm<|end|><|begin|>assistant<|content|>Hello<|end|>",
        "<|content_thinking|>hm<|end_message|><|message_model|><|content_text|>Hello<|end_message|>",
        " to=self<|message|>hm<|eom|><|start|>assistant to=user<|message|>Hello<|eot|>",
    ],
    ids=["solar_open", "inkling", "muse_glimmer"],
)
def test_messages_become_reasoning_and_text_without_their_tokens(text: str) -> None:
    """Headers and end tokens of a message are markup."""
    assert read_every_way(text) == [ReasoningText("hm", complete=True), VisibleText("Hello")]


@pytest.mark.parametrize("token", ["<|end|>", "<|end_message|>", "<|eom|>", "<|eot|>"])
def test_token_that_ends_a_message_is_text_where_none_began(token: str) -> None:
    """An answer about tokens keeps them."""
    text = f"A message ends in {token} there."

    assert read_every_way(text) == [VisibleText(text)]
