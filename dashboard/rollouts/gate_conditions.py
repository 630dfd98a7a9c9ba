"""Conditions of a gate for display: a state, a sentence and a link to the evidence."""

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

_STATE_LABELS = {
    ConditionState.MET: _("met"),
    ConditionState.NOT_MET: _("not met"),
    ConditionState.INCONCLUSIVE: _("not settled yet"),
    ConditionState.NO_DATA: _("no data"),
}
_CONDITION_NAMES = {
    "format": _("Format of tool calls"),
    "ordinary_client": _("Works with an ordinary SDK"),
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
_VALUE_LABELS = {
    "measured": _("measured"),
    "fresh": _("fresh"),
    "stale": _("stale"),
    "left": _("left"),
    "spent": _("spent"),
    "yes": _("yes"),
    "no": _("no"),
    "unknown": _("unknown"),
    **BASELINE_STATES,
}
# States differ in shape as well as in colour. Paths on a 12 x 12 grid.
_SHAPES = {
    ConditionState.MET: "M1.5 6.5 4.5 9.5 10.5 2.5",
    ConditionState.NOT_MET: "M2 2 10 10M10 2 2 10",
    ConditionState.INCONCLUSIVE: "M4 2V10M8 2V10",
    ConditionState.NO_DATA: "M2 6H10",
}


@dataclass(frozen=True, slots=True)
class DisplayedCondition:
    state: ConditionState
    text: str
    # The page of the evidence; empty if there is none.
    address: str

    @property
    def state_label(self) -> str:
        return str(_STATE_LABELS[self.state])

    @property
    def path(self) -> str:
        return _SHAPES[self.state]


def display_conditions(
    conditions: Iterable[GateCondition], endpoint: Endpoint
) -> list[DisplayedCondition]:
    """Conditions as evaluated now."""
    return [
        DisplayedCondition(each.state, each.text, _evidence_address(each.evidence, endpoint))
        for each in conditions
    ]


def display_stored_conditions(
    conditions: Iterable[Mapping[str, Any]], endpoint: Endpoint
) -> list[DisplayedCondition]:
    """Conditions as stored in the evidence of a request."""
    return [
        DisplayedCondition(
            ConditionState(each["state"]), _condition_text(each), _stored_address(each, endpoint)
        )
        for each in conditions
    ]


def _condition_text(condition: Mapping[str, Any]) -> str:
    family, _dot, metric = str(condition["key"]).partition(".")
    name = str(_CONDITION_NAMES.get(family, family))
    if metric:
        name = name.format(metric=metric_name(Metric(metric)))
    return gettext("{name}: {figure}; wanted: {wanted}.").format(
        name=name,
        figure=_format_figure(condition["figure"]),
        wanted=_format_figure(condition["wanted"]),
    )


def _format_figure(value: object) -> str:
    if value is None:
        return gettext("no data")
    # Floats up to 1 are success rates; other values are counts, hours and codes.
    if isinstance(value, float) and value <= 1:
        return f"{value:.1%}"
    if isinstance(value, int | float):
        return f"{value:g}"
    return str(_VALUE_LABELS[str(value)]) if str(value) in _VALUE_LABELS else visible(str(value))


def _stored_address(condition: Mapping[str, Any], endpoint: Endpoint) -> str:
    evidence = condition.get("evidence")
    return _evidence_address((evidence[0], evidence[1]), endpoint) if evidence else ""


def _evidence_address(evidence: Evidence | None, endpoint: Endpoint) -> str:
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
