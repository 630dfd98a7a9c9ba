"""Texts that show a call, in any format and any place, and texts that only speak of one."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from probes.messages import ToolSpec
from probes.parsers import PARSERS
from probes.parsers.diagnosis.find_markup import MAX_MARKUP, find_markup, find_shown_call
from probes.parsers.markup import MENTIONED, SHOWN, SHOWS_CALL, TOKENS, UNKNOWN, MarkupReason
from tests.extent import EXTENT
from tests.probes.parsers.test_hostile import BOUND, PATTERNS, collector_paused, growth

CORPUS = Path(__file__).parent / "corpus"
PARAMETERS = {
    "get_weather": ("city", "days"),
    "run_command": ("command",),
    "search_notes": ("query", "limit"),
    "read": ("path",),
    "get_time": (),
    "probe_echo": ("message", "tag"),
}
TOOLS = tuple(
    ToolSpec(name, "", {"type": "object", "properties": {key: {} for key in keys}})
    for name, keys in PARAMETERS.items()
)
HERMES = '<tool_call>{"name": "get_weather", "arguments": {"city": "Lima"}}</tool_call>'
TAGS = "<get_weather><city>Lima</city></get_weather>"
CODE = 'get_weather(city="Lima")'
# Longer than one reads at once, short enough for every pattern.
NAMES_OVER_AND_OVER = {
    "name": "get_weather ",
    "tag": "<get_weather>",
    "attribute": '<tool name="get_weather">',
    "object": '{"tool":"get_weather","x":{',
    "key": '{"get_weather": {"city":',
    "code": 'get_weather(city="',
    "label": "\ntool: get_weather\n",
    "lisp": "(get_weather :city ",
    "yaml": "\nget_weather:\n city: ",
    "fence": "\n```\nget_weather",
    "pre": "<pre>",
    "comment": "<!--",
    "ticks": "`a``b```c",
    "indented": "\n\n    get_weather()",
}


def corpus(name: str) -> dict[str, Any]:
    return tomllib.loads((CORPUS / f"{name}.toml").read_text(encoding="utf-8"))


LEAKS = corpus("leaks")
PROSE = corpus("plain_prose")


@pytest.mark.parametrize("name", LEAKS)
def test_a_leaked_call_is_found_in_its_format(name: str) -> None:
    """Every form in the corpus shows a call, of the format that it names."""
    case = LEAKS[name]
    is_reasoning = case.get("at") == "reasoning"

    shown = find_shown_call(case["text"], TOOLS, is_reasoning=is_reasoning)

    assert shown is not None
    assert case["format"] in {UNKNOWN, *PARSERS}
    assert case["format"] in {item.format for item in find_markup(case["text"], TOOLS)}


@pytest.mark.parametrize("name", PROSE)
def test_prose_about_tools_shows_no_call(name: str) -> None:
    """Names, tags, data, declarations and definitions are no calls."""
    assert [m for m in find_markup(PROSE[name], TOOLS) if m.confidence >= SHOWS_CALL] == []


def test_the_corpus_is_large_and_names_its_sources() -> None:
    """At least sixty of each; most of the leaks are from public reports."""
    reported = [case for case in LEAKS.values() if "#" in case["source"]]

    assert len(LEAKS) >= 60
    assert len(PROSE) >= 60
    assert len(reported) >= 60


@pytest.mark.parametrize(
    ("text", "reason", "confidence"),
    [
        (f"```\n{HERMES}\n```", MarkupReason.FENCED, SHOWN),
        (f"<pre>{HERMES}</pre>", MarkupReason.FENCED, SHOWN),
        (f"So:\n\n    {HERMES}\n", MarkupReason.FENCED, SHOWN),
        (f"It says `{HERMES}` there.", MarkupReason.QUOTED, MENTIONED),
        (f"> {HERMES}", MarkupReason.QUOTED, MENTIONED),
        (f"<!-- {HERMES} -->", MarkupReason.QUOTED, MENTIONED),
        (f"<think>{HERMES}</think>Hello", MarkupReason.IN_REASONING, SHOWN),
        (f"{HERMES}</think>Hello", MarkupReason.IN_REASONING, SHOWN),
        (f"{HERMES} Now I wait.", MarkupReason.FOLLOWED_BY_TEXT, TOKENS),
        (HERMES[:60], MarkupReason.CUT_OFF, TOKENS),
        (HERMES, MarkupReason.UNREADABLE, TOKENS),
        (HERMES.replace("get_weather", "get_tides"), MarkupReason.UNKNOWN_TOOL, SHOWN),
        (TAGS, MarkupReason.UNKNOWN_FORMAT, 0.85),
        (CODE, MarkupReason.UNKNOWN_FORMAT, 0.75),
        (f"<think>{CODE}</think>", MarkupReason.IN_REASONING, MENTIONED),
    ],
)
def test_the_reason_says_why_it_does_not_run(
    text: str, reason: MarkupReason, confidence: float
) -> None:
    """A place that quotes comes first, then what is wrong with the call itself."""
    (markup,) = find_markup(text, TOOLS)

    assert (markup.reason, markup.confidence) == (reason, confidence)


def test_a_format_that_is_not_armed_is_another_format() -> None:
    """Only the armed format would have been read."""
    (markup,) = find_markup(HERMES, TOOLS, armed="mistral")

    assert (markup.format, markup.reason) == ("hermes", MarkupReason.OTHER_FORMAT)


@pytest.mark.parametrize("call", [HERMES, TAGS, CODE, '{"tool": "get_time", "args": {}}'])
def test_the_span_is_the_call(call: str) -> None:
    """From its first to its last character, with text around it."""
    text = f"I will look.\n{call}\nOne moment."

    (markup,) = find_markup(text, TOOLS)

    assert text[slice(*markup.span)] == call


def test_two_calls_are_two_places() -> None:
    """In the order of the text, and no place overlaps another."""
    text = f"{TAGS}\nand\n{HERMES}\nand\n{CODE}"

    spans = [markup.span for markup in find_markup(text, TOOLS)]

    assert [text[start:end] for start, end in spans] == [TAGS, HERMES, CODE]


def test_without_tools_known_formats_are_found() -> None:
    """Any name may be a tool's then; an unknown format cannot be told from text."""
    assert [markup.format for markup in find_markup(HERMES)] == ["hermes"]
    assert find_markup(f"{TAGS} {CODE}") == []


@pytest.mark.parametrize("pattern", [*PATTERNS.values(), *NAMES_OVER_AND_OVER.values()], ids=repr)
def test_hostile_text_is_diagnosed_within_bounds(pattern: str) -> None:
    """Ten times the text takes about ten times as long, and the number of results is bounded."""
    tools = (*TOOLS, ToolSpec("f", "", {"properties": {"a": {}}}))
    times = EXTENT.hostile_growth // len(pattern)
    text = pattern * times

    with collector_paused():
        assert growth(lambda text: find_markup(text, tools), pattern * (times // 10), text) < BOUND
    found = find_markup(text, tools)
    assert len(found) <= MAX_MARKUP
    assert all(0 <= a < b <= len(text) for a, b in (markup.span for markup in found))
