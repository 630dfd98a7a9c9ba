"""Names of metrics, and the headline of a degradation."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from health.rates import DIRECTIONS, Direction
from health.translation import mark, say
from probes.outcomes import Metric

NAMES: Mapping[Metric, str] = MappingProxyType(
    {
        Metric.PARSE_SUCCESS: mark("Parse success"),
        Metric.SCHEMA_FAILURE: mark("Schema failures"),
        Metric.CLOSURE_ERROR: mark("Closure errors"),
        Metric.REASONING_REPLAY_ERROR: mark("Reasoning replay errors"),
        Metric.REPAIR_SUCCESS: mark("Repair success"),
        Metric.PARALLEL_DOWNGRADE: mark("Lost parallel calls"),
        Metric.UNSAFE_BLOCKED: mark("Blocked calls"),
        Metric.AVAILABILITY: mark("Availability"),
        Metric.LEAK: mark("Leaked calls"),
        Metric.REASONING_ONLY: mark("Turns with reasoning alone"),
        Metric.STREAM_DISAGREEMENT: mark("Streams that differ"),
        Metric.RESULT_USE: mark("Result use"),
        Metric.VALUE_FIDELITY: mark("Value fidelity"),
    }
)


def metric_name(metric: Metric) -> str:
    """The name of a metric in the reader's language; `NAMES` holds the English."""
    return say(NAMES[metric])


def degradation_headline(metric: Metric, normal: float | None, now: float) -> str:
    """The headline of a success rate that fell, in the direction of the metric."""
    rises = DIRECTIONS[metric] is Direction.LOW
    if normal is None:
        template = say("{name} rose to {after}") if rises else say("{name} fell to {after}")
        return template.format(name=metric_name(metric), after=_percent(metric, now))
    before, after = _percent(metric, normal), _percent(metric, now)
    if before == after:
        before, after = _percent(metric, normal, digits=1), _percent(metric, now, digits=1)
    if now >= normal or before == after:
        # The runs together can look no worse than the baseline, although single ones are too bad.
        template = say("{name}: {after}, baseline {before}")
    elif rises:
        template = say("{name} rose from {before} to {after}")
    else:
        template = say("{name} fell from {before} to {after}")
    return template.format(name=metric_name(metric), before=before, after=after)


def limit_headline(metric: Metric, limit: float, now: float) -> str:
    """The headline of live traffic that was on the wrong side of its absolute limit throughout."""
    template = (
        say("{name}: {after} in live traffic, above the limit of {limit}")
        if DIRECTIONS[metric] is Direction.LOW
        else say("{name}: {after} in live traffic, below the limit of {limit}")
    )
    after, shown_limit = _percent(metric, now), _percent(metric, limit)
    return template.format(name=metric_name(metric), after=after, limit=shown_limit)


def _percent(metric: Metric, success: float, *, digits: int = 0) -> str:
    """A success rate as the metric shows it: a failure rate where low is good."""
    shown = 1 - success if DIRECTIONS[metric] is Direction.LOW else success
    return f"{shown:.{digits}%}"
