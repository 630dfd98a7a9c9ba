"""The form of the gates: for each stage its conditions, in percent and hours as people say them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dashboard.core.labels import BASELINE_STATES
from dashboard.core.reasons import ReasonForm
from dashboard.rollouts.gate_text import percent_of, success_of
from dashboard.rollouts.text import allows
from dashboard.rollouts.text import name_of as stage_name
from health.detector import BaselineState
from health.gate_table import (
    HIGHEST_RATE,
    LONGEST_AGE,
    MOST_INCIDENTS,
    MOST_RUNS,
    MOST_TRIALS,
)
from health.gates import PROMOTION_STAGES, Gate, Gates
from health.metric_names import metric_name
from health.rates import DIRECTIONS, Direction
from health.severity import GATES
from probes.outcomes import Metric

_LANES = {"rates": "rate", "live_rates": "live"}


def _count(label: Any, most: int) -> forms.IntegerField:
    return forms.IntegerField(label=label, min_value=0, max_value=most)


class GateForm(forms.Form):
    """The conditions of one stage."""

    runs = _count(gettext_lazy("Runs, at least"), MOST_RUNS)
    full_runs = _count(gettext_lazy("Runs of the full suite, at least"), MOST_RUNS)
    trials = _count(gettext_lazy("Trials of parse success, at least"), MOST_TRIALS)
    baseline = forms.ChoiceField(
        label=gettext_lazy("Baseline, at least"),
        choices=[(known.value, BASELINE_STATES[known.value]) for known in BaselineState],
    )
    open_incidents = _count(gettext_lazy("Open incidents, at most"), MOST_INCIDENTS)
    age_hours = forms.FloatField(
        label=gettext_lazy("Hours at the stage before, at least"),
        min_value=0,
        max_value=LONGEST_AGE,
    )
    live_wanted = forms.BooleanField(label=gettext_lazy("Live traffic is needed"), required=False)
    live_trials = _count(gettext_lazy("Live trials from which it is judged"), MOST_TRIALS)

    def __init__(self, stage: str, gate: Gate, data: Mapping[str, Any] | None) -> None:
        super().__init__(data, prefix=stage, initial=_initial(gate))
        self.stage, self.gate = stage, gate
        for start in _LANES.values():
            for metric in DIRECTIONS:
                self.fields[f"{start}_{metric.value}"] = _rate_field(metric)

    @property
    def name(self) -> str:
        return stage_name(self.stage)

    @property
    def allows(self) -> str:
        return allows(self.stage)

    @property
    def first(self) -> list[forms.BoundField]:
        names = ("runs", "full_runs", "trials", "age_hours", "open_incidents", "baseline")
        return [self[name] for name in names]

    @property
    def rates(self) -> list[forms.BoundField]:
        """Of the metrics that always stand in the form."""
        return [self[f"rate_{metric.value}"] for metric in DIRECTIONS if metric in GATES]

    @property
    def further(self) -> list[forms.BoundField]:
        return [self[f"rate_{metric.value}"] for metric in DIRECTIONS if metric not in GATES]

    @property
    def live(self) -> list[forms.BoundField]:
        return [self[f"live_{metric.value}"] for metric in DIRECTIONS]

    @property
    def further_set(self) -> int:
        """How many stand where one would have to look for them."""
        return sum(field.value() not in (None, "") for field in self.further)

    @property
    def live_set(self) -> int:
        return sum(field.value() not in (None, "") for field in self.live)

    @property
    def further_wrong(self) -> bool:
        return any(field.errors for field in self.further)

    @property
    def live_wrong(self) -> bool:
        return any(field.errors for field in (*self.live, self["live_trials"]))

    def body(self) -> dict[str, Any]:
        """As health.gates reads it."""
        given = self.cleaned_data
        plain = ("runs", "full_runs", "trials", "baseline", "open_incidents", "age_hours")
        found = {name: given[name] for name in (*plain, "live_wanted", "live_trials")}
        for lane, start in _LANES.items():
            rates = {metric: given.get(f"{start}_{metric.value}") for metric in DIRECTIONS}
            found[lane] = {
                metric.value: success_of(metric, percent)
                for metric, percent in rates.items()
                if percent is not None
            }
        return found

    def mark(self, path: str, why: str) -> None:
        """Say beside its field what is wrong, as health.gates names fields: rates.leak, runs."""
        lane, _dot, metric = path.partition(".")
        name = f"{_LANES[lane]}_{metric}" if lane in _LANES and metric else lane
        self.add_error(name if name in self.fields else None, why)


class GatesForm:
    """All stages and the reason, as one form."""

    def __init__(self, gates: Gates, data: Mapping[str, Any] | None = None) -> None:
        self.stages = [GateForm(stage, gates.by_stage[stage], data) for stage in PROMOTION_STAGES]
        self.reason = ReasonForm(data)
        self._before = gates

    def is_valid(self) -> bool:
        # All of them are asked, so that every mistake is beside its field at once.
        valid = [form.is_valid() for form in (*self.stages, self.reason)]
        return all(valid)

    @property
    def has_errors(self) -> bool:
        return any(form.errors for form in (*self.stages, self.reason))

    def body(self) -> dict[str, Any]:
        return {form.stage: form.body() for form in self.stages}

    def is_changed(self) -> bool:
        return self.body() != _as_floats(self._before)

    def mark(self, mistakes: list[tuple[str, str]]) -> None:
        named = {form.stage: form for form in self.stages}
        for path, why in mistakes:
            stage, _dot, rest = path.partition(".")
            named.get(stage, self.stages[0]).mark(rest, why)


def _as_floats(gates: Gates) -> dict[str, Any]:
    """The gates as the form would write them."""
    body = gates.as_json()
    for gate in body.values():
        for lane in _LANES:
            gate[lane] = {
                metric.value: success_of(metric, percent_of(metric, gate[lane][metric.value]))
                for metric in DIRECTIONS
                if metric.value in gate[lane]
            }
    return body


def _initial(gate: Gate) -> dict[str, Any]:
    found: dict[str, Any] = {
        "runs": gate.runs,
        "full_runs": gate.full_runs,
        "trials": gate.trials,
        "baseline": gate.baseline.value,
        "open_incidents": gate.open_incidents,
        "age_hours": f"{gate.age / timedelta(hours=1):g}",
        "live_wanted": gate.live_wanted,
        "live_trials": gate.live_trials,
    }
    for start, rates in (("rate", gate.rates), ("live", gate.live_rates)):
        for metric, success in rates.items():
            found[f"{start}_{metric.value}"] = f"{percent_of(metric, success):g}"
    return found


def _rate_field(metric: Metric) -> forms.FloatField:
    high = DIRECTIONS[metric] is Direction.HIGH
    said = _("{metric}, at least (%)") if high else _("{metric}, at most (%)")
    ends = sorted((percent_of(metric, 0), percent_of(metric, HIGHEST_RATE)))
    told = _("From {least} to {most} percent.").format(least=f"{ends[0]:g}", most=f"{ends[1]:g}")
    return forms.FloatField(
        label=said.format(metric=metric_name(metric)),
        required=False,
        min_value=ends[0],
        max_value=ends[1],
        error_messages={"min_value": told, "max_value": told, "invalid": told},
    )
