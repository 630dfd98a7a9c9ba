"""The examples that vendors and engines give of each format, one file a family."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from probes.messages import ToolSpec
from probes.parsers import PARSERS
from tests.probes.parsers.read_helpers import (
    calls,
    raw_calls,
    read_every_way,
    reasoning_of,
    text_of,
)

FOLDER = Path(__file__).parent / "official"
CASES = {
    f"{path.stem}-{name}": case
    for path in sorted(FOLDER.glob("*.toml"))
    for name, case in tomllib.loads(path.read_text(encoding="utf-8")).items()
}
LEAST = 3


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("armed", ["auto", "own"])
def test_an_official_example_is_read(case: dict[str, Any], armed: str) -> None:
    """Calls, text and reasoning are those that its documentation names.

    Engines also read calls that text follows; here they may be quoted, and stay in the text.
    """
    tools = [ToolSpec(name, "", None) for name in {call["name"] for call in case["calls"]}]
    format = "auto" if armed == "auto" else case["format"]

    if "not_read" in case or (armed == "auto" and "not_read_by_auto" in case):
        assert text_of(read_every_way(case["text"], tools, format=format)) == case["text"]
        return

    found = read_every_way(case["text"], tools, format=format, prefill=case.get("prefill", ""))

    assert calls(found) == [(call["name"], call["arguments"]) for call in case["calls"]]
    assert {call.format for call in raw_calls(found)} <= {case["format"]}
    assert text_of(found).strip() == case.get("visible", "")
    assert reasoning_of(found).strip() == case.get("reasoning", "")


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
def test_every_family_has_examples_with_a_source(path: Path) -> None:
    """Three or more, each with the place where the format is described."""
    cases = tomllib.loads(path.read_text(encoding="utf-8"))

    assert len(cases) >= LEAST
    assert path.stem in PARSERS
    assert all(case["source"] for case in cases.values())


def test_every_format_has_official_examples() -> None:
    """No format is read as somebody remembers it."""
    assert {path.stem for path in FOLDER.glob("*.toml")} == set(PARSERS)
