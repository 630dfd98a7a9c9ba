"""One battery of cases for every format: whole, cut anywhere, and one character at a time."""

from __future__ import annotations

import pytest

from probes.messages import Location
from probes.parsers import JSON_BODIES
from probes.parsers.markup import MarkupReason
from probes.parsers.text_items import ReasoningText, VisibleText
from tests.probes.parsers.read_helpers import (
    calls,
    raw_calls,
    read_every_way,
    reasoning_of,
    text_of,
    withheld,
)
from tests.probes.parsers.writers import FORMATS, Format

HOSTILE = {
    "closing_parameter": "one </parameter> two",
    "closing_call": "one </tool_call> two",
    "closing_function": "one </function> two </invoke> three",
    "glm_tags": "<arg_value>x</arg_value> and <arg_key>",
    "cdata": "<![CDATA[x]]> ]]>",
    "fence": "a\n```json\n{}\n```\nb",
    "json": '{"a": [1, {"b": "]}"}]}',
    "quotes": 'it\'s "quoted" and \\ back\\nslashed',
    "unicode": "日本語 🚀 e\u0301 \u200b ｜",
    "layout": "  indented\n\n\ttabbed  ",
    "tokens": "<|call|> <|tool_call_end|> <｜tool▁call▁end｜> [ARGS] </think> x",
    "angles": "a < b > c <<>> </ <",
    "entities": "&lt;b&gt; &amp;",
    "numbers": "007",
}

every_format = pytest.mark.parametrize("format", FORMATS.values(), ids=FORMATS.keys())
around = pytest.mark.parametrize(
    "format",
    [format for format in FORMATS.values() if not format.whole],
    ids=[key for key, format in FORMATS.items() if not format.whole],
)
closed_by_tag = pytest.mark.parametrize(
    "format",
    [format for format in FORMATS.values() if format.closer],
    ids=[key for key, format in FORMATS.items() if format.closer],
)


@every_format
def test_one_call_is_found(format: Format) -> None:
    """A call as the model writes it is found, under its format's name, with nothing left over."""
    found = read_every_way(format.write([("f", {"a": "1"})]))

    assert calls(found) == [("f", {"a": "1"})]
    assert len(found) == 1
    assert raw_calls(found)[0].format == format.name
    assert raw_calls(found)[0].closed


@every_format
def test_call_without_arguments_is_found(format: Format) -> None:
    """No arguments is a call like any other."""
    assert calls(read_every_way(format.write([("f", {})]))) == [("f", {})]


@every_format
def test_several_arguments_keep_their_order(format: Format) -> None:
    """Arguments are those that were written, in their order."""
    found = read_every_way(format.write([("f", {"b": "2", "a": "1", "c": ""})]))

    assert [list(given.items()) for _, given in calls(found)] == [
        [("b", "2"), ("a", "1"), ("c", "")]
    ]


@every_format
def test_parallel_calls_stay_apart(format: Format) -> None:
    """Three calls are three calls, the same tool twice included, and no text appears."""
    written = [("f", {"a": "1"}), ("g", {}), ("f", {"a": "2"})]

    found = read_every_way(format.write(written))

    assert calls(found) == written
    assert len(found) == 3


@every_format
@pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_value_is_carried_intact(format: Format, value: str) -> None:
    """A value arrives as it was written, whatever markup it speaks of."""
    found = read_every_way(format.write([("write_file", {"path": "x", "content": value})]))

    assert calls(found) == [("write_file", {"path": "x", "content": value})]


@around
def test_text_before_a_call_is_kept_verbatim(format: Format) -> None:
    """Visible text stays, to the last blank."""
    call = format.write([("f", {"a": "1"})])

    found = read_every_way(f"Let me look. \n\n{call}\n")

    assert found[0] == VisibleText("Let me look. \n\n")
    assert calls(found) == [("f", {"a": "1"})]
    assert text_of(found) == "Let me look. \n\n"


@around
@pytest.mark.parametrize("armed", ["auto", "own"])
def test_call_between_words_is_quoted_and_stays_in_the_text(format: Format, armed: str) -> None:
    """Nothing of it runs, nothing of the text is lost, and the reader says why."""
    text = f"Write it so. \n\n{format.write([('f', {'a': '1'})])}\n\n Done.\n"
    name = "auto" if armed == "auto" else format.name

    assert text_of(read_every_way(text, format=name)) == text
    assert raw_calls(read_every_way(text, format=name)) == []
    if format.name != "llama_json":
        assert withheld(text, format=name) == [(format.name, MarkupReason.FOLLOWED_BY_TEXT)]


@every_format
def test_white_space_that_is_only_layout_is_not_text(format: Format) -> None:
    """Line breaks before, between and behind calls are no visible text."""
    found = read_every_way(f"\n\n{format.write([('f', {'a': '1'})])}\n")

    assert calls(found) == [("f", {"a": "1"})]
    assert text_of(found) == ""


@every_format
def test_call_behind_reasoning_is_found(format: Format) -> None:
    """A closing think tag is as good as a line's start."""
    found = read_every_way(f"<think>hm</think>{format.write([('f', {'a': '1'})])}")

    assert found[0] == ReasoningText("hm", complete=True)
    assert calls(found) == [("f", {"a": "1"})]
    assert raw_calls(found)[0].location is Location.CONTENT


@around
def test_call_in_reasoning_that_goes_on_is_reasoning(format: Format) -> None:
    """The model considered it; it did not make it."""
    call = format.write([("f", {"a": "1"})])
    text = f"<think>so\n{call}\nwell</think>Hi"

    found = read_every_way(text)

    assert raw_calls(found) == []
    assert reasoning_of(found) == f"so\n{call}\nwell"
    assert text_of(found) == "Hi"
    if format.name != "llama_json":
        assert withheld(text) == [(format.name, MarkupReason.IN_REASONING)]


@around
@pytest.mark.parametrize("end", ["", "\n", "</think>", "\n</think>\n"])
def test_call_that_ends_the_reasoning_and_the_turn_is_marked(format: Format, end: str) -> None:
    """It can run, and says where it was found."""
    found = read_every_way(f"<think>so\n{format.write([('f', {'a': '1'})])}{end}")

    assert [call.location for call in raw_calls(found)] == [Location.REASONING]
    assert calls(found) == [("f", {"a": "1"})]
    assert reasoning_of(found).strip() == "so"
    assert text_of(found) == ""


@around
def test_draft_of_a_call_in_reasoning_does_not_run_beside_the_call(format: Format) -> None:
    """A call that the visible part makes is made once."""
    call = format.write([("f", {"a": "1"})])

    found = read_every_way(f"<think>so\n{call}\n</think>\n{call}")

    assert [item.location for item in raw_calls(found)] == [Location.CONTENT]


@closed_by_tag
def test_swallowed_closing_tag_does_not_lose_the_call(format: Format) -> None:
    """A stop token ate the end: a JSON body is whole; one by one, parameters may be missing."""
    text = format.write([("f", {"a": "1"})]).removesuffix(format.closer)

    found = read_every_way(text)

    call = raw_calls(found)[0]
    one_by_one = format.name not in JSON_BODIES
    assert calls(found) == [("f", {"a": "1"})]
    assert (call.closed, call.open_value, call.notes) == (False, one_by_one, ("unterminated",))


@closed_by_tag
def test_unclosed_call_of_a_truncated_text_is_never_whole(format: Format) -> None:
    """Under a length limit nothing that is unclosed can be trusted."""
    text = format.write([("f", {"a": "1"})]).removesuffix(format.closer)

    call = raw_calls(read_every_way(text, truncated=True))[0]

    assert (call.closed, call.open_value) == (False, True)


@every_format
def test_text_that_ends_inside_a_value_is_an_open_call_or_text(format: Format) -> None:
    """A call cut inside its last value is never handed out as closed or as complete."""
    text = format.write([("f", {"a": "1", "b": "lorem ipsum"})])

    found = read_every_way(text[: text.index("ipsum")])

    assert all(call.open_value and not call.closed for call in raw_calls(found))
    if format.name != "pythonic":
        assert len(raw_calls(found)) == 1


@around
def test_undeclared_name_is_no_call_or_is_handed_on_as_written(format: Format) -> None:
    """Where prose might look the same, a name must be declared; nothing of the text is lost."""
    text = format.write([("unheard_of", {"a": "1"})])

    found = read_every_way(text)

    if raw_calls(found):
        assert calls(found) == [("unheard_of", {"a": "1"})]
    else:
        assert text_of(found) == text


@around
def test_call_in_a_code_fence_is_prose(format: Format) -> None:
    """What stands in a fence that was opened before is an example."""
    text = f"Write it so:\n```xml\n{format.write([('f', {'a': '1'})])}\n```\nThat is all."

    assert read_every_way(text) == [VisibleText(text)]


@every_format
def test_format_can_be_chosen_by_name(format: Format) -> None:
    """Under its own name a format is found as under auto."""
    text = format.write([("f", {"a": "1"})])

    assert calls(read_every_way(text, format=format.name)) == [("f", {"a": "1"})]


@around
def test_without_tools_marked_calls_still_count(format: Format) -> None:
    """Markup is a sign of its own, even where the tools are not known.

    Not so the plain words of ReAct, nor a child's name: they count only if a tool has that name.
    """
    found = read_every_way(format.write([("f", {"a": "1"})]), ())

    nothing = format.name in ("child_invoke", "react")
    assert calls(found) == ([] if nothing else [("f", {"a": "1"})])
