"""How much harm a tool can do, told by its name: rules of the operator first, then known tools.

A tool is classed by the strongest thing that it can do. What nobody has classed is dangerous: a
name proves nothing by sounding harmless.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from health.translation import say

# A longer name is no name of a tool, and is not looked at any further.
LONGEST_NAME = 256
LONGEST_PATTERN = 100


class Risk(StrEnum):
    """Mildest first."""

    READ = "read"  # looks at things, or stays within the agent
    WRITE = "write"  # changes files or notes
    DANGEROUS = "dangerous"  # runs programs, deletes, sends outside, spends money


@dataclass(frozen=True, slots=True)
class RiskRule:
    """Names that fit the pattern have this risk. `*` is any text, `?` any one character."""

    pattern: str
    risk: Risk
    note: str = ""
    # Whose tool it is; empty for a rule of the operator.
    agent: str = ""

    def fits(self, name: str) -> bool:
        return _fits(_folded(self.pattern), _folded(name))


@dataclass(frozen=True, slots=True)
class Classification:
    """The risk of a tool, and why; `rule` is None where no rule fits."""

    risk: Risk
    by: str
    rule: RiskRule | None = None


def classify_tool(name: str, rules: Iterable[RiskRule]) -> Classification:
    """The risk that the first fitting rule says, whatever the case of the letters."""
    if len(name) > LONGEST_NAME:
        return Classification(
            Risk.DANGEROUS, say("longer than {count} characters").format(count=LONGEST_NAME)
        )
    for rule in rules:
        if rule.fits(name):
            return Classification(rule.risk, _told(rule), rule)
    return Classification(Risk.DANGEROUS, say("no rule fits"))


def _told(rule: RiskRule) -> str:
    if rule.agent:
        told = say("{pattern}, a tool of {agent}")
        return told.format(pattern=rule.pattern, agent=rule.agent)
    return say("rule {pattern}").format(pattern=rule.pattern)


def _folded(text: str) -> str:
    # Some letters of other scripts become an "s" or a "k" in lower case.
    return text.lower() if text.isascii() else text


def _fits(pattern: str, name: str) -> bool:
    """Whether the name fits, without the backtracking of a regular expression.

    On a mismatch only the last star takes one character more: what an earlier star took need
    never be looked at again.
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
