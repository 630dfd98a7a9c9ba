"""What a check of the doctor found, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from dashboard.system_state import Named


class Verdict(StrEnum):
    OK = "ok"
    WARN = "warn"  # it works, and somebody should know
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    verdict: Verdict
    found: str
    do: str = ""  # what to do about it; empty when nothing is to be done


def ok(name: str, found: str) -> Check:
    return Check(name, Verdict.OK, found)


def warn(name: str, found: str, do: str) -> Check:
    return Check(name, Verdict.WARN, found, do)


def bad(name: str, found: str, do: str) -> Check:
    return Check(name, Verdict.BAD, found, do)


def listed(named: Named) -> str:
    """The slugs in a sentence, with how many are left out."""
    left = named.count - len(named.slugs)
    return ", ".join(named.slugs) + (f" and {left} more" if left else "")


def counted(count: int, one: str, many: str = "") -> str:
    """A number with its noun: 1 run, 2 runs."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
