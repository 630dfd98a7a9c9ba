"""Where a text says that tools, or one of them, are not to be called."""

from __future__ import annotations

import re

CALLING = r"(?:call|calling|use|using|invoke|invoking|run|running|touch|touching)"
_NOT = r"(?:do not|don't|don’t|never|without|avoid|no need to|must not|should not|not to)"
_TOOLS = r"(?:(?:a|any|the|your|these|those|of|all)\s+)*(?:tools?|functions?)\b"
_ONLY_OTHERS = r"(?!\s+(?:other|except|besides|but|twice|again|more))"
_BAN = re.compile(
    rf"\b{_NOT}\s+(?:\w+\s+){{0,2}}?{CALLING}\s+(?:{_TOOLS}|(?:it|them|anything)\b){_ONLY_OTHERS}"
    rf"|\bno (?:tool|function)(?: call)?s?\b{_ONLY_OTHERS}"
    rf"|\b(?:not|never)\s+(?:through|by|via|with|as)\s+{_TOOLS}"
    rf"|\bwithout\s+{_TOOLS}|\bleave\s+{_TOOLS}\s+alone\b"
    r"|\b(?:tools?|functions?)\s+(?:is|are)\s+(?:off limits|forbidden|not needed|not allowed)\b",
    re.I,
)
_REFUSED = re.compile(
    rf"(?:\b{_NOT}\s+(?:\w+\s+){{0,3}}?{CALLING}\s+(?:\w+\s+){{0,4}}"
    r"|\b(?:not|instead of|rather than)\s+(?:the\s+)?(?:tool\s+)?)[`\"'*]*\Z",
    re.I,
)


def first_ban(text: str) -> int | None:
    """Where it is first said that no tool is wanted."""
    found = _BAN.search(text)
    return found.start() if found else None


def without_bans(text: str) -> str:
    """The text with blanks in place of what forbids tools, so that all else keeps its place."""
    return _BAN.sub(lambda match: " " * len(match.group()), text)


def is_refused(text: str, name: re.Match[str]) -> bool:
    """Whether a tool's name stands there because it is not to be called."""
    return _REFUSED.search(text[max(0, name.start() - 120) : name.start()]) is not None
