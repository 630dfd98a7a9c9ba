"""The query string of the fleet page. Invalid values are ignored and reported in `notes`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django import forms
from django.utils.translation import gettext as _

from dashboard.core.query_form import QueryFilter, QueryForm, choice_field, text_field
from dashboard.models.profile import Stage
from health.modes import WATCHED
from health.status import Status
from probes.outcomes import Metric
from probes.target import Provider

# Matches endpoints without tags, or without a team.
NONE = "-"
FLEET_METRICS = (*WATCHED, Metric.AVAILABILITY)
# A leading minus reverses the order.
SORTS = ("status", "name", *(metric.value for metric in FLEET_METRICS), "last")
GROUPS = ("provider", "model", "team", "tag", "stage")
STATUSES = {status.value.replace(" ", "-"): status for status in Status}


@dataclass(frozen=True, slots=True)
class FleetFilter(QueryFilter):
    """An empty field does not filter; `notes` describe the values that were ignored."""

    q: str = ""
    status: str = ""
    provider: str = ""
    model: str = ""
    team: str = ""
    tag: str = ""
    stage: str = ""
    sort: str = "status"
    group: str = ""
    page: int = 1
    notes: tuple[str, ...] = ()

    @property
    def is_narrowed(self) -> bool:
        return any(getattr(self, name) for name in FILTERS)

    @property
    def metric(self) -> Metric | None:
        """The metric that the list is sorted by."""
        name = self.sort.lstrip("-")
        return Metric(name) if name in _METRIC_NAMES else None


_METRIC_NAMES = {metric.value for metric in FLEET_METRICS}
FILTERS = ("q", "status", "provider", "model", "team", "tag", "stage")


class FleetFilterForm(QueryForm):
    q = text_field()
    status = choice_field(STATUSES)
    provider = choice_field([each.value for each in Provider])
    model = text_field()
    team = text_field()
    tag = text_field()
    stage = choice_field(Stage.values)
    sort = choice_field([*SORTS, *(f"-{sort}" for sort in SORTS)])
    group = choice_field(GROUPS)
    page = forms.IntegerField(required=False, min_value=1, max_value=10**9)

    def clean_tag(self) -> str:
        return str(self.cleaned_data["tag"]).lower()

    def notes(self) -> tuple[str, ...]:
        """What was ignored."""
        return tuple(_ignored(name, self.data.get(name, "")[:40]) for name in self.errors)


def read_filter(query: Mapping[str, str]) -> FleetFilter:
    form = FleetFilterForm(query)
    return FleetFilter(**form.read(), notes=form.notes())


def _ignored(name: str, value: str) -> str:
    if name == "sort":
        text = _("Nothing can be sorted by “{value}”; the worst come first.")
    elif name == "page":
        text = _("There is no page “{value}”; this is the first.")
    else:
        text = _("There is no {name} “{value}”, so it was left out.")
    return text.format(name=_parameter_names().get(name, name), value=value)


def _parameter_names() -> Mapping[str, str]:
    return {
        "status": _("status"),
        "provider": _("provider"),
        "stage": _("stage"),
        "group": _("group"),
    }
