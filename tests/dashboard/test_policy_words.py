from __future__ import annotations

from typing import Any

from dashboard.policy_words import lines

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
    assert lines(BODY) == [
        ("Tools", "only those of risk read, write"),
        ("Calls arrive as", "xml, read by qwen_xml"),
        ("Calls a turn", "one"),
        ("Streams", "text only; tool turns are fetched whole"),
        ("Schemas", "simple object, simplified"),
        ("Calls that do not fit", "not repaired, asked for again at most 1 ×"),
        ("Reasoning", "sent back: same turn, verbatim"),
    ]


def test_without_tools_nothing_is_said_about_calls() -> None:
    """Rules for calls that nobody may make would only confuse."""
    found = lines({**BODY, "risk": {"allowed": []}})

    assert [name for name, _ in found] == ["Tools", "Reasoning"]


def test_what_a_policy_does_not_have_is_left_out() -> None:
    """An older version with fewer parts is shown as far as it goes."""
    assert lines({"risk": {"allowed": ["read"]}}) == [("Tools", "only those of risk read")]
    assert lines({}) == []
