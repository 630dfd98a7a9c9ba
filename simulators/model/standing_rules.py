"""Rules of system messages for every reply, such as `End every reply with the word "amber"`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from probes.messages import Role, Text, Turn
from simulators.model.quotes import find_quoted_texts

_ENDING = re.compile(
    r"\b(?:end|finish|close)\s+(?:every|each|all(?:\s+your)?|your)\s+"
    r"(?:answer|reply|response|message)\w*\s+with\b([^\n]*)",
    re.I,
)


def obey_system_rules(text: str, turns: Sequence[Turn]) -> str:
    """The text of a reply with the endings that system messages require."""
    endings = [
        quoted
        for turn in turns
        if turn.role is Role.SYSTEM
        for part in turn.parts
        if isinstance(part, Text)
        for rule in _ENDING.findall(part.text)
        for quoted in find_quoted_texts(rule)[:1]
    ]
    return " ".join([text, *endings])
