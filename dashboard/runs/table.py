"""The runs of an endpoint, a page at a time: filters and place are in the address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dashboard.core import labels
from dashboard.models import Endpoint, Run
from dashboard.models.run import ACTIVE, State, Trigger
from probes.suite import SUITES

PAGE = 20
PARTS = ("suite", "trigger", "outcome", "before", "after")
_OUTCOMES = {
    "clean": Q(state=State.FINISHED, failed=0),
    "failures": Q(state=State.FINISHED, failed__gt=0),
    "no_verdict": Q(state=State.FAILED),
    "stopped": Q(state=State.ABANDONED),
    "active": Q(state__in=ACTIVE),
}
OUTCOME_WORDS = {
    "clean": gettext_lazy("nothing failed"),
    "failures": gettext_lazy("with failures"),
    "no_verdict": gettext_lazy("no verdict"),
    "stopped": gettext_lazy("stopped"),
    "active": gettext_lazy("under way"),
}
TRIGGER_WORDS = {
    "ttl": gettext_lazy("scheduled"),
    "key_change": gettext_lazy("key changed"),
    "fingerprint": gettext_lazy("fingerprint changed"),
    "baseline": gettext_lazy("baseline"),
    "confirm": gettext_lazy("to confirm a warning"),
    "recovery": gettext_lazy("to prove a recovery"),
    "manual": gettext_lazy("by hand"),
    "api": gettext_lazy("by the API"),
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which runs are shown; what makes no sense is as if it were not asked for."""

    suite: str = ""
    trigger: str = ""
    outcome: str = ""
    # The run next to which the page begins: older ones, or newer ones.
    before: int = 0
    after: int = 0

    @property
    def is_filtered(self) -> bool:
        return bool(self.suite or self.trigger or self.outcome)

    def address(self, **over: object) -> str:
        """The same filters at another place, as the end of an address."""
        asked = {"suite": self.suite, "trigger": self.trigger, "outcome": self.outcome, **over}
        return urlencode({name: value for name, value in asked.items() if value})

    @property
    def here(self) -> str:
        return self.address(before=self.before, after=self.after)


@dataclass(frozen=True, slots=True)
class Table:
    """One page of runs, and the way to its neighbours; empty where there is none."""

    asked: Wanted
    runs: tuple[Run, ...]
    newer: str = ""
    older: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """One filter of the form."""

    name: str
    label: str
    chosen: str
    options: tuple[tuple[str, str], ...]


def choices(asked: Wanted) -> list[Choice]:
    """The filters with what can be chosen in each."""
    suites = {suite: labels.code_label(suite, labels.SUITES) for suite in SUITES}
    return [
        Choice("suite", _("Suite"), asked.suite, _options(suites)),
        Choice("trigger", _("Why"), asked.trigger, _options(TRIGGER_WORDS)),
        Choice("outcome", _("Outcome"), asked.outcome, _options(OUTCOME_WORDS)),
    ]


def _options(words: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return (("", _("all")), *((value, str(said)) for value, said in words.items()))


def wanted(asked: Mapping[str, str]) -> Wanted:
    """What an address asks for."""
    return Wanted(
        suite=_one_of(asked.get("suite", ""), SUITES),
        trigger=_one_of(asked.get("trigger", ""), Trigger.values),
        outcome=_one_of(asked.get("outcome", ""), _OUTCOMES),
        before=_number(asked.get("before", "")),
        after=_number(asked.get("after", "")),
    )


def read(endpoint: Endpoint, asked: Wanted) -> Table:
    """A page, by the numbers of runs, so that a long past costs no more. One query."""
    found = Run.objects.of(endpoint).filter(**_same(asked))
    if asked.outcome:
        found = found.filter(_OUTCOMES[asked.outcome])
    if asked.after and not asked.before:
        # The page just above: from its lower end upwards, one more than is shown.
        rows = list(found.filter(pk__gt=asked.after).order_by("pk")[: PAGE + 1])
        return _table(asked, rows[:PAGE][::-1], newer=len(rows) > PAGE, older=True)
    if asked.before:
        found = found.filter(pk__lt=asked.before)
    rows = list(found.newest_first()[: PAGE + 1])
    return _table(asked, rows[:PAGE], newer=bool(asked.before), older=len(rows) > PAGE)


def _table(asked: Wanted, rows: list[Run], *, newer: bool, older: bool) -> Table:
    if not rows:
        return Table(asked, ())
    return Table(
        asked,
        tuple(rows),
        newer=asked.address(after=rows[0].pk) if newer else "",
        older=asked.address(before=rows[-1].pk) if older else "",
    )


def _same(asked: Wanted) -> dict[str, Any]:
    told = {"suite": asked.suite, "trigger": asked.trigger}
    return {name: value for name, value in told.items() if value}


def _one_of(value: str, known: Any) -> str:
    return value if value in known else ""


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 18 else 0
