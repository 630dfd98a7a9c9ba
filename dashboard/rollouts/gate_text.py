"""A gate in words, line by line; and what differs between two versions of the gates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from django.utils.translation import gettext as _

from dashboard.core import durations
from dashboard.core.labels import BASELINE_STATES, code_label
from dashboard.rollouts.text import name_of as stage_name
from dashboard.trust.text import shown
from health.gates import PROMOTION_STAGES, Gate, Gates
from health.metric_names import metric_name
from health.rates import DIRECTIONS, Direction
from probes.outcomes import Metric


@dataclass(frozen=True, slots=True)
class Difference:
    """One condition of one stage that is another one than before; empty is: there was none."""

    stage: str
    name: str
    before: str
    after: str


def lines(gate: Gate) -> dict[str, str]:
    """What each condition is called, and what it asks for."""
    least = _("at least {count}")
    said = {
        _("Runs"): least.format(count=gate.runs),
        _("Runs of the full suite"): least.format(count=gate.full_runs),
        _("Trials"): least.format(count=gate.trials),
        **_rates(gate.rates, "{metric}"),
        _("Baseline"): code_label(gate.baseline.value, BASELINE_STATES),
        _("Open incidents"): _("at most {count}").format(count=gate.open_incidents),
        _("Time at the stage before"): _age(gate.age),
        _("Live traffic"): _live(gate),
        **_rates(gate.live_rates, _("{metric}, live")),
    }
    return said


def differences(before: Gates, after: Gates) -> list[Difference]:
    """What changed from one version to the next, in the order of the page."""
    found = []
    for stage in PROMOTION_STAGES:
        old, new = lines(before.by_stage[stage]), lines(after.by_stage[stage])
        for name in dict.fromkeys([*new, *old]):
            if old.get(name) != new.get(name):
                told = (old.get(name, ""), new.get(name, ""))
                found.append(Difference(stage_name(stage), name, *told))
    return found


def percent_of(metric: Metric, success: float) -> float:
    """A success rate as people read it: in percent, the way that the metric is shown."""
    return round(shown(metric, success) * 100, 4)


def success_of(metric: Metric, percent: float) -> float:
    """The way back."""
    return round(shown(metric, percent / 100), 6)


def _rates(rates: Mapping[Metric, float], called: str) -> dict[str, str]:
    return {
        called.format(metric=metric_name(metric)): _bound(metric, success)
        for metric, success in rates.items()
    }


def _bound(metric: Metric, success: float) -> str:
    said = (
        _("at least {percent} %")
        if DIRECTIONS[metric] is Direction.HIGH
        else _("at most {percent} %")
    )
    return said.format(percent=f"{percent_of(metric, success):g}")


def _age(age: timedelta) -> str:
    return (
        _("at least {span}").format(span=durations.format_rough_duration(age)) if age else _("any")
    )


def _live(gate: Gate) -> str:
    if gate.live_wanted:
        return _("at least {count} trials").format(count=gate.live_trials)
    return _("not needed; judged from {count} trials on").format(count=gate.live_trials)
