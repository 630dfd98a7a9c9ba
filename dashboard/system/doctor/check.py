"""What a check of the doctor found, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from django.utils.translation import gettext as _

from dashboard.system.state import NamedEndpoints


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


def join_slugs(named: NamedEndpoints) -> str:
    """The slugs in a sentence, with how many are left out."""
    left, slugs = named.count - len(named.slugs), ", ".join(named.slugs)
    return _("{names} and {count} more").format(names=slugs, count=left) if left else slugs


def count_noun(count: int, one: str, many: str = "") -> str:
    """A number with its noun: 1 run, 2 runs. English alone, for checks that no page shows."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
