"""The runs of an endpoint, a page at a time: filters and place are in the address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dashboard.core import labels
from dashboard.core.query_form import QueryFilter, QueryForm, choice_field, id_field
from dashboard.models import Endpoint, Run
from dashboard.models.run import ACTIVE, State, Trigger
from probes.suite import SUITES

PAGE = 20
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
class RunFilter(QueryFilter):
    """Which runs are shown. An empty field does not filter."""

    suite: str = ""
    trigger: str = ""
    outcome: str = ""
    # The run next to which the page begins: older ones, or newer ones.
    before: int = 0
    after: int = 0

    @property
    def is_filtered(self) -> bool:
        return bool(self.suite or self.trigger or self.outcome)

    @property
    def here(self) -> str:
        return self.address(before=self.before, after=self.after)


class RunFilterForm(QueryForm):
    suite = choice_field(SUITES)
    trigger = choice_field(Trigger.values)
    outcome = choice_field(_OUTCOMES)
    before = id_field()
    after = id_field()


@dataclass(frozen=True, slots=True)
class Table:
    """One page of runs, and the way to its neighbours; empty where there is none."""

    asked: RunFilter
    runs: tuple[Run, ...]
    newer: str = ""
    older: str = ""


PARTS = tuple(RunFilterForm.base_fields)


@dataclass(frozen=True, slots=True)
class Choice:
    """One filter of the form."""

    name: str
    label: str
    chosen: str
    options: tuple[tuple[str, str], ...]


def choices(asked: RunFilter) -> list[Choice]:
    """The filters with what can be chosen in each."""
    suites = {suite: labels.code_label(suite, labels.SUITES) for suite in SUITES}
    return [
        Choice("suite", _("Suite"), asked.suite, _options(suites)),
        Choice("trigger", _("Why"), asked.trigger, _options(TRIGGER_WORDS)),
        Choice("outcome", _("Outcome"), asked.outcome, _options(OUTCOME_WORDS)),
    ]


def _options(words: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return (("", _("all")), *((value, str(said)) for value, said in words.items()))


def read(endpoint: Endpoint, asked: RunFilter) -> Table:
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


def _table(asked: RunFilter, rows: list[Run], *, newer: bool, older: bool) -> Table:
    if not rows:
        return Table(asked, ())
    return Table(
        asked,
        tuple(rows),
        newer=asked.address(after=rows[0].pk) if newer else "",
        older=asked.address(before=rows[-1].pk) if older else "",
    )


def _same(asked: RunFilter) -> dict[str, Any]:
    told = {"suite": asked.suite, "trigger": asked.trigger}
    return {name: value for name, value in told.items() if value}
