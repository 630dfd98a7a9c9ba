"""Promises about every format, tried on texts that a grammar makes and on damaged ones."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from probes.parsers.base import RawCall
from probes.parsers.reader import read_text
from probes.parsers.text_items import TextItem
from probes.text_answer import TextAnswer, read_text_answer
from tests.extent import EXTENT, GATE
from tests.probes.parsers.grammar import (
    DIALECTS,
    GREEK,
    TOOLS,
    Answer,
    answers,
    calls_of,
    executable,
    written,
)
from tests.probes.parsers.mutations import (
    MARKS,
    apply_edits,
    calls_mixed_in,
    edits,
    mark_strings,
    unwritten_parts,
)
from tests.probes.parsers.test_properties import cut
from tests.probes.parsers.writers import FORMATS, Call

every_format = pytest.mark.parametrize("key", FORMATS)
fuzz = settings(
    max_examples=EXTENT.fuzz_examples,
    # The gate draws the same examples every time, `--all` others.
    derandomize=EXTENT is GATE,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
SMALL: list[Call] = [("get", {"key": "x y", "limit": 12})]
FREE_CALLS = 2_000
CALLS_PER_CHARACTER = 50
sizes = st.lists(st.integers(1, 20), max_size=40)
other_formats = st.sampled_from(sorted(FORMATS))


def read(answer: Answer, **options: Any) -> TextAnswer:
    return read_text_answer([answer.text], TOOLS, **answer.options, **options)


@every_format
@fuzz
@given(data=st.data())
def test_what_was_written_is_what_is_read(key: str, data: st.DataObject) -> None:
    """Every call comes back executable and typed; prose and reasoning come back verbatim."""
    answer = data.draw(answers(key))

    found = read(answer)

    assert executable(found.calls) == written(answer.calls)
    assert found.broken == ()
    assert (found.text, found.reasoning) == (answer.visible, answer.reasoning)
    repairs = {repair for call in found.calls for repair in call.repairs}
    # An empty object inside another has no tags of its own.
    assert repairs <= ({"decoded_string"} if DIALECTS[key].typed_tags else set())


@every_format
@fuzz
@given(data=st.data())
def test_pieces_of_any_size_say_what_the_whole_says(key: str, data: st.DataObject) -> None:
    """Calls, ids, errors, text and reasoning are the same, also in a damaged text."""
    answer = data.draw(answers(key))
    text = apply_edits(answer.text, data.draw(st.just([]) | edits(3)))
    pieces = cut(text, data.draw(sizes)) if data.draw(st.booleans()) else list(text)
    truncated = data.draw(st.booleans())

    found = read_text_answer(pieces, TOOLS, **answer.options, truncated=truncated)

    assert found == read(replace(answer, text=text), truncated=truncated)


def assert_safe_when_cut(answer: Answer, end: int) -> None:
    beginning = replace(answer, text=answer.text[:end])
    for truncated in (False, True):
        found = executable(read(beginning, truncated=truncated).calls)
        assert found == written(answer.calls)[: len(found)], (beginning.text, truncated)


@every_format
@fuzz
@given(data=st.data())
def test_beginning_of_a_text_has_no_other_calls(key: str, data: st.DataObject) -> None:
    """Wherever a text ends, what can be executed are the first of the calls that were written."""
    answer = data.draw(answers(key))

    for end in data.draw(st.lists(st.integers(0, len(answer.text)), min_size=3, max_size=6)):
        assert_safe_when_cut(answer, end)


@every_format
def test_every_beginning_of_a_small_text_has_no_other_calls(key: str) -> None:
    """The same at every character."""
    answer = Answer(FORMATS[key].write(SMALL), SMALL, format=FORMATS[key].name)

    for end in range(len(answer.text) + 1):
        assert_safe_when_cut(answer, end)


def assert_written(found: TextAnswer, text: str) -> None:
    for call in found.calls:
        assert unwritten_parts(text, call.name, call.input) == []
        assert len(calls_mixed_in(call.input)) <= 1, call


def marked_text(data: st.DataObject, key: str, marks: str) -> str:
    calls = data.draw(st.lists(calls_of(key), min_size=1, max_size=len(marks)))
    return FORMATS[key].write(mark_strings(calls, marks))


@every_format
@fuzz
@given(data=st.data())
def test_damaged_text_has_no_call_that_was_not_written(key: str, data: st.DataObject) -> None:
    """What can be executed stands in the text, and all of it in one call."""
    text = apply_edits(marked_text(data, key, MARKS[:3]), data.draw(edits(3)))
    format = data.draw(st.sampled_from(("auto", FORMATS[key].name)))
    truncated = data.draw(st.booleans())

    assert_written(read_text_answer([text], TOOLS, format=format, truncated=truncated), text)


@every_format
@fuzz
@given(data=st.data())
def test_two_formats_in_one_text_never_make_one_call(key: str, data: st.DataObject) -> None:
    """Half a text of one format and half of another is never one call of both."""
    first = marked_text(data, key, MARKS[:2])
    other = data.draw(other_formats)
    second = marked_text(data, other, MARKS[2:4])
    end, start = data.draw(st.integers(0, len(first))), data.draw(st.integers(0, len(second)))
    text = first[:end] + data.draw(st.sampled_from(("", "\n"))) + second[start:]
    format = data.draw(st.sampled_from(("auto", FORMATS[key].name, FORMATS[other].name)))

    assert_written(read_text_answer([text], TOOLS, format=format), text)


@every_format
@fuzz
@given(data=st.data())
def test_damaged_text_takes_work_in_proportion_to_its_length(key: str, data: st.DataObject) -> None:
    """Also where every line of a long text is damaged in the same way."""
    text = apply_edits(data.draw(answers(key)).text, data.draw(edits(3)))
    text = "\n".join([text] * data.draw(st.sampled_from((1, 8))))
    format = data.draw(st.sampled_from(("auto", FORMATS[key].name)))
    read_text_answer(["x"], TOOLS, format=format)  # builds what is kept for all texts

    with at_most_calls(FREE_CALLS + CALLS_PER_CHARACTER * len(text)):
        read_text_answer([text], TOOLS, format=format)


@contextmanager
def at_most_calls(bound: int) -> Iterator[None]:
    # Counts calls of the parsers' functions, which a busy machine does not change. Most texts take
    # two or three per character; a text that is read again and again takes hundreds.
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        ours = str(frame.f_globals.get("__name__")).startswith("probes.")
        calls += event == "call" and ours
        assert calls <= bound, f"more than {bound} calls of functions"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(before)


def greek(text: str) -> str:
    return "".join(character for character in text if character in GREEK)


def source(item: TextItem) -> str:
    return item.raw if isinstance(item, RawCall) else item.text


@every_format
@fuzz
@given(data=st.data())
def test_no_word_outside_of_calls_is_lost(key: str, data: st.DataObject) -> None:
    """All prose of a damaged text is text, reasoning, or part of what a call was read from."""
    answer = data.draw(answers(key))
    text = apply_edits(answer.text, data.draw(st.just([]) | edits(3)))

    items = read_text(text, TOOLS, **answer.options, truncated=data.draw(st.booleans()))

    assert greek("".join(map(source, items))) == greek(text)
