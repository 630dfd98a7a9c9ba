"""One conversation in three steps, for every client: two parallel calls, an error, an answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

PROMPT = (
    "Do both in the same turn: call probe_echo with message 'naïve \"amber\" ☕' and tag beta, and "
    "probe_add with a = 3 and b = 4. Then tell me what came back."
)
ECHO = {
    "type": "object",
    "properties": {
        "message": {"type": "string"},
        "tag": {"type": "string", "enum": ["alpha", "beta"]},
    },
    "required": ["message", "tag"],
}
ADD = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
TOOLS = {"probe_echo": ECHO, "probe_add": ADD}
FIRST = [
    ("probe_echo", {"message": 'naïve "amber" ☕', "tag": "beta"}),
    ("probe_add", {"a": 3, "b": 4}),
]
SECOND = [("probe_add", {"a": 10, "b": 4})]
NONCES = ("nonce-echo-5521", "nonce-sum-9042")


def run_tool(name: str, arguments: Mapping[str, Any]) -> tuple[str, bool]:
    """A tool's result, and whether it failed: the sum requires a larger first number."""
    if name == "probe_echo":
        return json.dumps({"nonce": NONCES[0]}), False
    if arguments["a"] >= 10:
        return json.dumps({"nonce": NONCES[1]}), False
    error = {
        "is_error": True,
        "error_code": "out_of_range",
        "message": "a must be at least 10",
        "path": "$.a",
        "retryable": True,
    }
    return json.dumps(error), True


def check_conversation(steps: list[list[tuple[str, dict[str, Any]]]], answer: str | None) -> None:
    """Assert the three steps that the tools and the prompt lead to."""
    assert steps == [FIRST, SECOND, []]
    for nonce in NONCES:
        assert nonce in (answer or "")
