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
    """A caller's duties in words, in the order in which a request meets them."""
    assert describe_policy(BODY) == [
        ("Tools", "only those of risk read, write"),
        ("Calls arrive as", "xml, read by qwen_xml"),
        ("Calls a turn", "one"),
        ("Streams", "text only; tool turns are fetched whole"),
        ("Schemas", "simple objects, simplified"),
        ("Calls that do not fit", "not repaired, asked for again at most 1 time"),
        ("Reasoning", "sent back within the same turn, verbatim"),
    ]


def test_without_tools_nothing_is_said_about_calls() -> None:
    """Rules for calls that nobody may make would only confuse."""
    found = describe_policy({**BODY, "risk": {"allowed": []}})

    assert [name for name, _ in found] == ["Tools", "Reasoning"]


def test_what_a_policy_does_not_have_is_left_out() -> None:
    """An older version with fewer parts is shown as far as it goes."""
    assert describe_policy({"risk": {"allowed": ["read"]}}) == [
        ("Tools", "only those of risk read")
    ]
    assert describe_policy({}) == []


@pytest.mark.parametrize(
    ("allowed", "words"),
    [
        ([], "Callers get no tools now."),
        (["read"], "Callers may use tools that read, and no others."),
        (["read", "write"], "Callers may use tools that read or write."),
        (["read", "write", "unknown"], "Callers may use every tool."),
    ],
)
def test_trust_is_one_sentence(allowed: list[str], words: str) -> None:
    """What an endpoint may be trusted with now is said before anything else."""
    assert describe_trust({"risk": {"allowed": allowed}}) == words
