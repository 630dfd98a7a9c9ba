"""Descriptions of gates, and the diff of two versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from django.utils.translation import gettext as _

from dashboard.core import durations
from dashboard.core.labels import BASELINE_STATES, code_label
from dashboard.rollouts.text import stage_name
from dashboard.trust.text import displayed_rate
from health.gates import PROMOTION_STAGES, Gate, Gates
from health.metric_names import metric_name
from health.rates import DIRECTIONS, Direction
from probes.outcomes import Metric


@dataclass(frozen=True, slots=True)
class GateChange:
    """A changed condition of a stage. Empty text means no condition."""

    stage: str
    name: str
    before: str
    after: str


def describe_gate(gate: Gate) -> dict[str, str]:
    """The requirement by the name of the condition."""
    at_least = _("at least {count}")
    return {
        _("Runs"): at_least.format(count=gate.runs),
        _("Runs of the full suite"): at_least.format(count=gate.full_runs),
        _("Trials"): at_least.format(count=gate.trials),
        _("Ordinary SDK"): _("must work") if gate.ordinary_client else _("not needed"),
        **_describe_rates(gate.rates, "{metric}"),
        _("Baseline"): code_label(gate.baseline.value, BASELINE_STATES),
        _("Open incidents"): _("at most {count}").format(count=gate.open_incidents),
        _("Time at the stage before"): _describe_age(gate.age),
        _("Live traffic"): _describe_live(gate),
        **_describe_rates(gate.live_rates, _("{metric}, live")),
    }


def diff_gates(before: Gates, after: Gates) -> list[GateChange]:
    """The changed conditions, in the order of the page."""
    changes = []
    for stage in PROMOTION_STAGES:
        old, new = describe_gate(before.by_stage[stage]), describe_gate(after.by_stage[stage])
        for name in dict.fromkeys([*new, *old]):
            old_text, new_text = old.get(name, ""), new.get(name, "")
            if old_text != new_text:
                changes.append(GateChange(stage_name(stage), name, old_text, new_text))
    return changes


def success_to_percent(metric: Metric, success: float) -> float:
    """A success rate as the displayed rate of the metric, in percent."""
    return round(displayed_rate(metric, success) * 100, 4)


def percent_to_success(metric: Metric, percent: float) -> float:
    return round(displayed_rate(metric, percent / 100), 6)


def _describe_rates(rates: Mapping[Metric, float], name_format: str) -> dict[str, str]:
    return {
        name_format.format(metric=metric_name(metric)): _describe_bound(metric, success)
        for metric, success in rates.items()
    }


def _describe_bound(metric: Metric, success: float) -> str:
    text = (
        _("at least {percent} %")
        if DIRECTIONS[metric] is Direction.HIGH
        else _("at most {percent} %")
    )
    return text.format(percent=f"{success_to_percent(metric, success):g}")


def _describe_age(age: timedelta) -> str:
    return (
        _("at least {span}").format(span=durations.format_rough_duration(age)) if age else _("any")
    )


def _describe_live(gate: Gate) -> str:
    if gate.live_wanted:
        return _("at least {count} trials").format(count=gate.live_trials)
    return _("not needed; judged from {count} trials on").format(count=gate.live_trials)
