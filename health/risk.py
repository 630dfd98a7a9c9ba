"""The risk class of a tool, by its name: operators' rules first, then known tools.

A tool is classified by the most harmful thing that it can do. An unclassified tool is dangerous,
however harmless its name sounds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from health.translation import say

# A longer name is not matched against rules.
LONGEST_NAME = 256
LONGEST_PATTERN = 100


class Risk(StrEnum):
    """Mildest first."""

    READ = "read"  # looks at things, or stays within the agent
    WRITE = "write"  # changes files or notes
    DANGEROUS = "dangerous"  # runs programs, deletes, sends outside, spends money


@dataclass(frozen=True, slots=True)
class RiskRule:
    """Tools whose names match the pattern have this risk. `*` is any text, `?` any character."""

    pattern: str
    risk: Risk
    note: str = ""
    # The agent that the tool belongs to; empty for an operator's rule.
    agent: str = ""

    def matches(self, name: str) -> bool:
        return _matches_pattern(_fold_case(self.pattern), _fold_case(name))


@dataclass(frozen=True, slots=True)
class Classification:
    """The risk of a tool, and the reason; `rule` is None if no rule matches."""

    risk: Risk
    by: str
    rule: RiskRule | None = None


def classify_tool(name: str, rules: Iterable[RiskRule]) -> Classification:
    """The risk of the first rule that matches, case-insensitively."""
    if len(name) > LONGEST_NAME:
        return Classification(
            Risk.DANGEROUS, say("longer than {count} characters").format(count=LONGEST_NAME)
        )
    for rule in rules:
        if rule.matches(name):
            return Classification(rule.risk, _rule_reason(rule), rule)
    return Classification(Risk.DANGEROUS, say("no rule fits"))


def _rule_reason(rule: RiskRule) -> str:
    if rule.agent:
        template = say("{pattern}, a tool of {agent}")
        return template.format(pattern=rule.pattern, agent=rule.agent)
    return say("rule {pattern}").format(pattern=rule.pattern)


def _fold_case(text: str) -> str:
    # Some non-ASCII letters become an "s" or a "k" in lower case.
    return text.lower() if text.isascii() else text


def _matches_pattern(pattern: str, name: str) -> bool:
    """Match a name without the backtracking of a regular expression.

    On a mismatch only the last star takes one character more; earlier stars never need to change.
    """
    at = star = 0
    resume = -1
    i = 0
    while i < len(name):
        if at < len(pattern) and pattern[at] == "*":
            star, resume = at, i
            at += 1
        elif at < len(pattern) and pattern[at] in ("?", name[i]):
            at += 1
            i += 1
        elif resume >= 0:
            resume += 1
            at, i = star + 1, resume
        else:
            return False
    return not pattern[at:].strip("*")
