"""The result of a check of the doctor."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from django.utils.translation import gettext as _

from dashboard.system.state import NamedEndpoints


class Verdict(StrEnum):
    OK = "ok"
    WARN = "warn"  # it works, with a problem to look at
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    verdict: Verdict
    message: str
    advice: str = ""  # what to do; empty if nothing


def ok(name: str, message: str) -> Check:
    return Check(name, Verdict.OK, message)


def warn(name: str, message: str, advice: str) -> Check:
    return Check(name, Verdict.WARN, message, advice)


def bad(name: str, message: str, advice: str) -> Check:
    return Check(name, Verdict.BAD, message, advice)


def join_slugs(named: NamedEndpoints) -> str:
    """The slugs for a sentence, with the number of omitted ones."""
    omitted, slugs = named.count - len(named.slugs), ", ".join(named.slugs)
    return _("{names} and {count} more").format(names=slugs, count=omitted) if omitted else slugs


def count_noun(count: int, one: str, many: str = "") -> str:
    """A number with its noun: 1 run, 2 runs. English only, for checks that no page shows."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
