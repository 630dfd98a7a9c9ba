"""Where a text forbids calling tools, or one of them."""

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
_FORBIDDEN_NAME = re.compile(
    rf"(?:\b{_NOT}\s+(?:\w+\s+){{0,3}}?{CALLING}\s+(?:\w+\s+){{0,4}}"
    r"|\b(?:not|instead of|rather than)\s+(?:the\s+)?(?:tool\s+)?)[`\"'*]*\Z",
    re.I,
)


def find_first_ban(text: str) -> int | None:
    """The position of the first phrase that forbids tools."""
    match = _BAN.search(text)
    return match.start() if match else None


def blank_out_bans(text: str) -> str:
    """The text with blanks in place of phrases that forbid tools, so that positions are kept."""
    return _BAN.sub(lambda match: " " * len(match.group()), text)


def is_forbidden(text: str, name: re.Match[str]) -> bool:
    """Whether the text mentions a tool's name to forbid calling it."""
    return _FORBIDDEN_NAME.search(text[max(0, name.start() - 120) : name.start()]) is not None
