"""Texts of many families that were written before the rules: quotations, and real calls."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from probes.messages import ToolSpec
from probes.parsers import PARSERS
from probes.text_answer import TextAnswer, read_text_answer

FOLDER = Path(__file__).parent / "corpus"
LEAST = 3


def load(name: str) -> dict[str, dict[str, Any]]:
    return tomllib.loads((FOLDER / name).read_text(encoding="utf-8"))


QUOTED = load("quoted_calls.toml")
REAL = load("real_calls.toml")
# A bare call with nothing behind it is what a call looks like.
DECIDABLE = {name: case for name, case in QUOTED.items() if case["kind"] != "undecidable"}
# ReAct's own call with the made-up result that follows it where no stop word is set.
LIKE_A_CALL = {"react_classic_transcript"}


def read(case: dict[str, Any], format: str) -> TextAnswer:
    tools = [ToolSpec(name, "", None) for name in case["tools"]]
    text, prefill = case["text"], case.get("prefill", "")
    whole = read_text_answer([text], tools, format=format, prefill=prefill)
    assert read_text_answer(list(text), tools, format=format, prefill=prefill) == whole
    return whole


@pytest.mark.parametrize("case", DECIDABLE.values(), ids=DECIDABLE.keys())
def test_quoted_call_does_not_run(case: dict[str, Any]) -> None:
    """Where no format was chosen, every format is armed and still nothing runs."""
    assert read(case, "auto").calls == ()


@pytest.mark.parametrize(
    "case",
    [case for name, case in DECIDABLE.items() if name not in LIKE_A_CALL],
    ids=[name for name in DECIDABLE if name not in LIKE_A_CALL],
)
def test_quoted_call_of_the_chosen_format_does_not_run(case: dict[str, Any]) -> None:
    """A model that explains its own format does not call either."""
    assert read(case, case.get("own_format", case["format"])).calls == ()


@pytest.mark.parametrize("armed", ["auto", "own"])
@pytest.mark.parametrize("case", REAL.values(), ids=REAL.keys())
def test_real_call_runs(case: dict[str, Any], armed: str) -> None:
    """Calls, visible text and reasoning are those that the model wrote."""
    answer = read(case, "auto" if armed == "auto" else case["format"])

    assert [(call.name, call.input) for call in answer.calls] == [
        (call["name"], call["input"]) for call in case["calls"]
    ]
    assert (answer.text or "").strip() == case.get("visible", "")
    assert (answer.reasoning or "").strip() == case.get("reasoning", "")


@pytest.mark.parametrize("format", PARSERS)
def test_every_format_is_quoted_and_called(format: str) -> None:
    """No format rests on another's texts."""
    for corpus in (QUOTED, REAL):
        assert sum(case["format"] == format for case in corpus.values()) >= LEAST
