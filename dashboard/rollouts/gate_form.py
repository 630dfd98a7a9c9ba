"""The form of the gates: the conditions per stage, with rates in percent and ages in hours."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dashboard.core.labels import BASELINE_STATES
from dashboard.core.reasons import ReasonForm
from dashboard.rollouts.gate_text import percent_to_success, success_to_percent
from dashboard.rollouts.text import stage_access, stage_name
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

# The prefix of the field names, by the key in the JSON of a gate.
_RATE_PREFIXES = {"rates": "rate", "live_rates": "live"}


def _count_field(label: Any, maximum: int) -> forms.IntegerField:
    return forms.IntegerField(label=label, min_value=0, max_value=maximum)


class GateForm(forms.Form):
    """The conditions of one stage."""

    runs = _count_field(gettext_lazy("Runs, at least"), MOST_RUNS)
    full_runs = _count_field(gettext_lazy("Runs of the full suite, at least"), MOST_RUNS)
    trials = _count_field(gettext_lazy("Trials of parse success, at least"), MOST_TRIALS)
    baseline = forms.ChoiceField(
        label=gettext_lazy("Baseline, at least"),
        choices=[(known.value, BASELINE_STATES[known.value]) for known in BaselineState],
    )
    ordinary_client = forms.BooleanField(
        label=gettext_lazy("An ordinary SDK must work"), required=False
    )
    open_incidents = _count_field(gettext_lazy("Open incidents, at most"), MOST_INCIDENTS)
    age_hours = forms.FloatField(
        label=gettext_lazy("Hours at the stage before, at least"),
        min_value=0,
        max_value=LONGEST_AGE,
    )
    live_wanted = forms.BooleanField(label=gettext_lazy("Live traffic is needed"), required=False)
    live_trials = _count_field(gettext_lazy("Live trials from which it is judged"), MOST_TRIALS)

    def __init__(self, stage: str, gate: Gate, data: Mapping[str, Any] | None) -> None:
        super().__init__(data, prefix=stage, initial=_initial(gate))
        self.stage, self.gate = stage, gate
        for prefix in _RATE_PREFIXES.values():
            for metric in DIRECTIONS:
                self.fields[f"{prefix}_{metric.value}"] = _rate_field(metric)

    @property
    def name(self) -> str:
        return stage_name(self.stage)

    @property
    def access(self) -> str:
        return stage_access(self.stage)

    @property
    def basic_fields(self) -> list[forms.BoundField]:
        names = ("runs", "full_runs", "trials", "age_hours", "open_incidents", "baseline")
        return [self[name] for name in names]

    @property
    def rate_fields(self) -> list[forms.BoundField]:
        """The rates of the gate metrics, which are always visible."""
        return [self[f"rate_{metric.value}"] for metric in DIRECTIONS if metric in GATES]

    @property
    def further_fields(self) -> list[forms.BoundField]:
        return [self[f"rate_{metric.value}"] for metric in DIRECTIONS if metric not in GATES]

    @property
    def live_fields(self) -> list[forms.BoundField]:
        return [self[f"live_{metric.value}"] for metric in DIRECTIONS]

    @property
    def further_count(self) -> int:
        """The number of conditions in the collapsed section."""
        return sum(field.value() not in (None, "") for field in self.further_fields)

    @property
    def live_count(self) -> int:
        return sum(field.value() not in (None, "") for field in self.live_fields)

    @property
    def further_has_errors(self) -> bool:
        return any(field.errors for field in self.further_fields)

    @property
    def live_has_errors(self) -> bool:
        return any(field.errors for field in (*self.live_fields, self["live_trials"]))

    def body(self) -> dict[str, Any]:
        """The gate as JSON, in the format of health.gates."""
        cleaned = self.cleaned_data
        plain = ("runs", "full_runs", "trials", "baseline", "open_incidents", "age_hours")
        body = {
            name: cleaned[name]
            for name in (*plain, "ordinary_client", "live_wanted", "live_trials")
        }
        for lane, prefix in _RATE_PREFIXES.items():
            rates = {metric: cleaned.get(f"{prefix}_{metric.value}") for metric in DIRECTIONS}
            body[lane] = {
                metric.value: percent_to_success(metric, percent)
                for metric, percent in rates.items()
                if percent is not None
            }
        return body

    def add_path_error(self, path: str, message: str) -> None:
        """Show an error beside its field. Paths are those of health.gates: rates.leak, runs."""
        lane, _dot, metric = path.partition(".")
        name = f"{_RATE_PREFIXES[lane]}_{metric}" if lane in _RATE_PREFIXES and metric else lane
        self.add_error(name if name in self.fields else None, message)


class GatesForm:
    """The forms of all stages and the reason."""

    def __init__(self, gates: Gates, data: Mapping[str, Any] | None = None) -> None:
        self.stages = [GateForm(stage, gates.by_stage[stage], data) for stage in PROMOTION_STAGES]
        self.reason = ReasonForm(data)
        self._gates = gates

    def is_valid(self) -> bool:
        # Validate every form before combining the results, so that all errors show at once.
        results = [form.is_valid() for form in (*self.stages, self.reason)]
        return all(results)

    @property
    def has_errors(self) -> bool:
        return any(form.errors for form in (*self.stages, self.reason))

    def body(self) -> dict[str, Any]:
        return {form.stage: form.body() for form in self.stages}

    def is_changed(self) -> bool:
        return self.body() != _form_body(self._gates)

    def add_path_errors(self, errors: list[tuple[str, str]]) -> None:
        forms_by_stage = {form.stage: form for form in self.stages}
        for path, message in errors:
            stage, _dot, rest = path.partition(".")
            forms_by_stage.get(stage, self.stages[0]).add_path_error(rest, message)


def _form_body(gates: Gates) -> dict[str, Any]:
    """The gates as JSON, with the rounding of the form."""
    body = gates.as_json()
    for gate in body.values():
        for lane in _RATE_PREFIXES:
            gate[lane] = {
                metric.value: percent_to_success(
                    metric, success_to_percent(metric, gate[lane][metric.value])
                )
                for metric in DIRECTIONS
                if metric.value in gate[lane]
            }
    return body


def _initial(gate: Gate) -> dict[str, Any]:
    initial: dict[str, Any] = {
        "runs": gate.runs,
        "full_runs": gate.full_runs,
        "trials": gate.trials,
        "baseline": gate.baseline.value,
        "open_incidents": gate.open_incidents,
        "age_hours": f"{gate.age / timedelta(hours=1):g}",
        "ordinary_client": gate.ordinary_client,
        "live_wanted": gate.live_wanted,
        "live_trials": gate.live_trials,
    }
    for prefix, rates in (("rate", gate.rates), ("live", gate.live_rates)):
        for metric, success in rates.items():
            initial[f"{prefix}_{metric.value}"] = f"{success_to_percent(metric, success):g}"
    return initial


def _rate_field(metric: Metric) -> forms.FloatField:
    is_high = DIRECTIONS[metric] is Direction.HIGH
    label = _("{metric}, at least (%)") if is_high else _("{metric}, at most (%)")
    minimum, maximum = sorted(
        (success_to_percent(metric, 0), success_to_percent(metric, HIGHEST_RATE))
    )
    error = _("From {least} to {most} percent.").format(least=f"{minimum:g}", most=f"{maximum:g}")
    return forms.FloatField(
        label=label.format(metric=metric_name(metric)),
        required=False,
        min_value=minimum,
        max_value=maximum,
        error_messages={"min_value": error, "max_value": error, "invalid": error},
    )
