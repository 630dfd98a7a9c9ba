from __future__ import annotations

from typing import Any

import pytest

from dashboard.policy.text import describe_policy, describe_trust

BODY: dict[str, Any] = {
    "risk": {"allowed": ["read", "write"]},
    "tool_call": {"format": "xml", "parser": "qwen_xml"},
    "parallel": {"allowed": False, "max_calls_per_turn": 1},
    "streaming": {"tools": False, "text": True},
    "schema": {"level": "simple_object", "simplify": True},
    "validation": {"required": True, "repairs_allowed": False, "max_reasks": 1},
    "replay": {"rule": "same_turn", "verbatim": True, "trim": False},
}


def test_every_part_of_a_policy_is_a_line() -> None:
    """Lines are in the order in which they matter for a request."""
    assert describe_policy(BODY) == [
        ("Tools", "only those of risk read, write"),
        ("Calls arrive as", "xml, read by qwen_xml"),
        ("Calls a turn", "one"),
        ("Streams", "text only; tool turns are fetched whole"),
        ("Schemas", "simple objects, simplified"),
        ("Calls that do not fit", "not repaired, asked for again at most 1 time"),
        ("Reasoning", "sent back within the same turn, verbatim"),
    ]


def test_without_tools_there_are_no_lines_about_calls() -> None:
    """Rules for calls that are not allowed would only confuse."""
    lines = describe_policy({**BODY, "risk": {"allowed": []}})

    assert [name for name, _ in lines] == ["Tools", "Reasoning"]


def test_missing_parts_of_a_policy_are_omitted() -> None:
    """An older version may have fewer parts."""
    assert describe_policy({"risk": {"allowed": ["read"]}}) == [
        ("Tools", "only those of risk read")
    ]
    assert describe_policy({}) == []


@pytest.mark.parametrize(
    ("allowed", "sentence"),
    [
        ([], "Callers get no tools now."),
        (["read"], "Callers may use tools that read, and no others."),
        (["read", "write"], "Callers may use tools that read or write."),
        (["read", "write", "unknown"], "Callers may use every tool."),
    ],
)
def test_trust_is_one_sentence(allowed: list[str], sentence: str) -> None:
    """It says which tools callers may use now."""
    assert describe_trust({"risk": {"allowed": allowed}}) == sentence
