"""Conditions of a gate as pages show them: a state in words, a sentence, and where to look."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from dashboard.core.labels import BASELINE_STATES
from dashboard.core.safe_text import visible
from dashboard.models import Endpoint
from health.gates import ConditionState, Evidence, GateCondition
from health.metric_names import metric_name
from probes.outcomes import Metric

_STATES = {
    ConditionState.MET: _("met"),
    ConditionState.NOT_MET: _("not met"),
    ConditionState.INCONCLUSIVE: _("not settled yet"),
    ConditionState.NO_DATA: _("no data"),
}
_KEYS = {
    "format": _("Format of tool calls"),
    "fresh": _("Age of what was measured"),
    "runs": _("Runs"),
    "full_runs": _("Runs of the full suite"),
    "trials": _("Trials of parse success"),
    "baseline": _("Baseline"),
    "rate": _("{metric}, good trials"),
    "live": _("{metric} of live traffic, good trials"),
    "incidents": _("Open incidents"),
    "age": _("Hours at the stage before"),
    "budget": _("Budget for probing"),
}
_CODES = {
    "measured": _("measured"),
    "fresh": _("fresh"),
    "stale": _("stale"),
    "left": _("left"),
    "spent": _("spent"),
    **BASELINE_STATES,
}
# Apart in shape as well as in colour. Drawn on 12 x 12.
_SHAPES = {
    ConditionState.MET: "M1.5 6.5 4.5 9.5 10.5 2.5",
    ConditionState.NOT_MET: "M2 2 10 10M10 2 2 10",
    ConditionState.INCONCLUSIVE: "M4 2V10M8 2V10",
    ConditionState.NO_DATA: "M2 6H10",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """One condition: how it was judged, a sentence, and the page of what it rests on."""

    judged: ConditionState
    words: str
    # Empty where there is nothing to see.
    address: str

    @property
    def state(self) -> str:
        return self.judged.value

    @property
    def state_words(self) -> str:
        return str(_STATES[self.judged])

    @property
    def path(self) -> str:
        return _SHAPES[self.judged]


def shown(conditions: Iterable[GateCondition], endpoint: Endpoint) -> list[Shown]:
    """Conditions as they are judged now."""
    return [
        Shown(each.state, each.text, address_of(each.evidence, endpoint)) for each in conditions
    ]


def told(conditions: Iterable[Mapping[str, Any]], endpoint: Endpoint) -> list[Shown]:
    """Conditions as a request keeps them: what was found, and what was wanted."""
    return [
        Shown(ConditionState(each["state"]), _sentence(each), _kept_address(each, endpoint))
        for each in conditions
    ]


def _sentence(kept: Mapping[str, Any]) -> str:
    family, _dot, metric = str(kept["key"]).partition(".")
    name = str(_KEYS.get(family, family))
    if metric:
        name = name.format(metric=metric_name(Metric(metric)))
    said = gettext("{name}: {figure}; wanted: {wanted}.")
    return said.format(name=name, figure=_figure(kept["figure"]), wanted=_figure(kept["wanted"]))


def _figure(value: object) -> str:
    if value is None:
        return gettext("no data")
    # Rates are kept as success rates, all else as counts, hours and codes.
    if isinstance(value, float) and value <= 1:
        return f"{value:.1%}"
    if isinstance(value, int | float):
        return f"{value:g}"
    return str(_CODES[str(value)]) if str(value) in _CODES else visible(str(value))


def _kept_address(kept: Mapping[str, Any], endpoint: Endpoint) -> str:
    evidence = kept.get("evidence")
    return address_of((evidence[0], evidence[1]), endpoint) if evidence else ""


def address_of(evidence: Evidence | None, endpoint: Endpoint) -> str:
    match evidence:
        case ("run", number):
            return reverse("run", args=[number])
        case ("incident", number):
            return reverse("incident", args=[number])
        case ("metric", name):
            return f"{endpoint.get_absolute_url()}?metric={name}#chart"
        case ("profile", _epoch):
            return f"{endpoint.get_absolute_url()}#capabilities"
        case _:
            return ""
