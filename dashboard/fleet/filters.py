"""The query string of the fleet page. Invalid values are ignored and reported in `notes`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from django.utils.translation import gettext as _

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
_MAX_LENGTH = 200


@dataclass(frozen=True, slots=True)
class FleetFilter:
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

    def address(self, **over: object) -> str:
        """The query string of the same list with `over` applied, on its first page."""
        parameters = {name: getattr(self, name) for name in _PARAMETERS} | over
        parameters = {
            name: value for name, value in parameters.items() if value != _DEFAULTS.get(name, "")
        }
        return "?" + urlencode(parameters) if parameters else "?"


_METRIC_NAMES = {metric.value for metric in FLEET_METRICS}
FILTERS = ("q", "status", "provider", "model", "team", "tag", "stage")
_PARAMETERS = (*FILTERS, "sort", "group")
_DEFAULTS = {"sort": "status", "page": 1}


def read_filter(query: Mapping[str, str]) -> FleetFilter:
    notes: list[str] = []
    return FleetFilter(
        q=_read_text(query, "q"),
        status=_read_choice(query, "status", STATUSES, notes),
        provider=_read_choice(query, "provider", [each.value for each in Provider], notes),
        model=_read_text(query, "model"),
        team=_read_text(query, "team"),
        tag=_read_text(query, "tag").lower(),
        stage=_read_choice(query, "stage", Stage.values, notes),
        sort=_read_sort(query, notes),
        group=_read_choice(query, "group", GROUPS, notes),
        page=_read_page(query, notes),
        notes=tuple(notes),
    )


def _read_text(query: Mapping[str, str], name: str) -> str:
    return query.get(name, "").replace("\0", "").strip()[:_MAX_LENGTH]


def _read_choice(
    query: Mapping[str, str], name: str, choices: Collection[str], notes: list[str]
) -> str:
    value = _read_text(query, name)
    if not value or value in choices:
        return value
    notes.append(
        _("There is no {name} “{value}”, so it was left out.").format(
            name=_parameter_names()[name], value=value[:40]
        )
    )
    return ""


def _parameter_names() -> Mapping[str, str]:
    return {
        "status": _("status"),
        "provider": _("provider"),
        "stage": _("stage"),
        "group": _("group"),
    }


def _read_sort(query: Mapping[str, str], notes: list[str]) -> str:
    value = _read_text(query, "sort")
    if not value or value.removeprefix("-") in SORTS:
        return value or "status"
    notes.append(
        _("Nothing can be sorted by “{value}”; the worst come first.").format(value=value[:40])
    )
    return "status"


def _read_page(query: Mapping[str, str], notes: list[str]) -> int:
    value = _read_text(query, "page")
    if not value:
        return 1
    if value.isascii() and value.isdigit() and int(value[:9]) >= 1:
        return int(value[:9])
    notes.append(_("There is no page “{value}”; this is the first.").format(value=value[:40]))
    return 1
