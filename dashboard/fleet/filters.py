"""What an address of the fleet page asks for. What makes no sense is told and left out."""

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

# Of the endpoints without any tag, or without a team.
NONE = "-"
SHOWN = (*WATCHED, Metric.AVAILABILITY)
# A minus before it turns the order round.
SORTS = ("status", "name", *(metric.value for metric in SHOWN), "last")
GROUPS = ("provider", "model", "team", "tag", "stage")
STATUSES = {status.value.replace(" ", "-"): status for status in Status}
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Asked:
    """Empty is everything; `notes` say what was not understood."""

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
        return Metric(name) if name in _METRICS else None

    def address(self, **over: object) -> str:
        """The same list with something changed, from its first page, as the end of an address."""
        given = {name: getattr(self, name) for name in _NAMES} | over
        given = {name: value for name, value in given.items() if value != _DEFAULTS.get(name, "")}
        return "?" + urlencode(given) if given else "?"


_METRICS = {metric.value for metric in SHOWN}
FILTERS = ("q", "status", "provider", "model", "team", "tag", "stage")
_NAMES = (*FILTERS, "sort", "group")
_DEFAULTS = {"sort": "status", "page": 1}


def asked_by(query: Mapping[str, str]) -> Asked:
    """What the address asks for."""
    notes: list[str] = []
    return Asked(
        q=_text(query, "q"),
        status=_one_of(query, "status", STATUSES, notes),
        provider=_one_of(query, "provider", [each.value for each in Provider], notes),
        model=_text(query, "model"),
        team=_text(query, "team"),
        tag=_text(query, "tag").lower(),
        stage=_one_of(query, "stage", Stage.values, notes),
        sort=_sort(query, notes),
        group=_one_of(query, "group", GROUPS, notes),
        page=_page(query, notes),
        notes=tuple(notes),
    )


def _text(query: Mapping[str, str], name: str) -> str:
    return query.get(name, "").replace("\0", "").strip()[:_LONGEST]


def _one_of(query: Mapping[str, str], name: str, known: Collection[str], notes: list[str]) -> str:
    value = _text(query, name)
    if not value or value in known:
        return value
    notes.append(
        _("There is no {name} “{value}”, so it was left out.").format(
            name=_words()[name], value=value[:40]
        )
    )
    return ""


def _words() -> Mapping[str, str]:
    return {
        "status": _("status"),
        "provider": _("provider"),
        "stage": _("stage"),
        "group": _("group"),
    }


def _sort(query: Mapping[str, str], notes: list[str]) -> str:
    value = _text(query, "sort")
    if not value or value.removeprefix("-") in SORTS:
        return value or "status"
    notes.append(
        _("Nothing can be sorted by “{value}”; the worst come first.").format(value=value[:40])
    )
    return "status"


def _page(query: Mapping[str, str], notes: list[str]) -> int:
    value = _text(query, "page")
    if not value:
        return 1
    if value.isascii() and value.isdigit() and int(value[:9]) >= 1:
        return int(value[:9])
    notes.append(_("There is no page “{value}”; this is the first.").format(value=value[:40]))
    return 1
