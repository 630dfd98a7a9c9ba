"""The paged table of an endpoint's runs; the query string holds filters and position."""

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

PAGE_SIZE = 20
_OUTCOMES = {
    "clean": Q(state=State.FINISHED, failed=0),
    "failures": Q(state=State.FINISHED, failed__gt=0),
    "no_verdict": Q(state=State.FAILED),
    "stopped": Q(state=State.ABANDONED),
    "active": Q(state__in=ACTIVE),
}
OUTCOME_LABELS = {
    "clean": gettext_lazy("nothing failed"),
    "failures": gettext_lazy("with failures"),
    "no_verdict": gettext_lazy("no verdict"),
    "stopped": gettext_lazy("stopped"),
    "active": gettext_lazy("under way"),
}
TRIGGER_LABELS = {
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
    # The page shows runs older than `before`, or newer than `after`.
    before: int = 0
    after: int = 0

    @property
    def is_filtered(self) -> bool:
        return bool(self.suite or self.trigger or self.outcome)

    @property
    def current_address(self) -> str:
        return self.address(before=self.before, after=self.after)


class RunFilterForm(QueryForm):
    suite = choice_field(SUITES)
    trigger = choice_field(Trigger.values)
    outcome = choice_field(_OUTCOMES)
    before = id_field()
    after = id_field()


@dataclass(frozen=True, slots=True)
class RunTable:
    """One page of runs, and the addresses of the next pages; empty if there is none."""

    filter: RunFilter
    runs: tuple[Run, ...]
    newer: str = ""
    older: str = ""


PARAMETERS = tuple(RunFilterForm.base_fields)


@dataclass(frozen=True, slots=True)
class FilterChoice:
    """One select of the filter form."""

    name: str
    label: str
    chosen: str
    options: tuple[tuple[str, str], ...]


def filter_choices(run_filter: RunFilter) -> list[FilterChoice]:
    suites = {suite: labels.code_label(suite, labels.SUITES) for suite in SUITES}
    return [
        FilterChoice("suite", _("Suite"), run_filter.suite, _options(suites)),
        FilterChoice("trigger", _("Why"), run_filter.trigger, _options(TRIGGER_LABELS)),
        FilterChoice("outcome", _("Outcome"), run_filter.outcome, _options(OUTCOME_LABELS)),
    ]


def _options(choice_labels: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return (("", _("all")), *((value, str(label)) for value, label in choice_labels.items()))


def read_run_table(endpoint: Endpoint, run_filter: RunFilter) -> RunTable:
    """One page, by keyset, so that a long history costs no more. One query."""
    runs = Run.objects.of(endpoint).filter(**_exact_filters(run_filter))
    if run_filter.outcome:
        runs = runs.filter(_OUTCOMES[run_filter.outcome])
    if run_filter.after and not run_filter.before:
        # Newer runs in ascending order, one more than is shown.
        rows = list(runs.filter(pk__gt=run_filter.after).order_by("pk")[: PAGE_SIZE + 1])
        return _build_table(
            run_filter, rows[:PAGE_SIZE][::-1], newer=len(rows) > PAGE_SIZE, older=True
        )
    if run_filter.before:
        runs = runs.filter(pk__lt=run_filter.before)
    rows = list(runs.newest_first()[: PAGE_SIZE + 1])
    return _build_table(
        run_filter, rows[:PAGE_SIZE], newer=bool(run_filter.before), older=len(rows) > PAGE_SIZE
    )


def _build_table(run_filter: RunFilter, runs: list[Run], *, newer: bool, older: bool) -> RunTable:
    if not runs:
        return RunTable(run_filter, ())
    return RunTable(
        run_filter,
        tuple(runs),
        newer=run_filter.address(after=runs[0].pk) if newer else "",
        older=run_filter.address(before=runs[-1].pk) if older else "",
    )


def _exact_filters(run_filter: RunFilter) -> dict[str, Any]:
    fields = {"suite": run_filter.suite, "trigger": run_filter.trigger}
    return {name: value for name, value in fields.items() if value}
