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
    }
)


def metric_name(metric: Metric) -> str:
    """The name of a metric in the reader's language; `NAMES` holds the English."""
    return say(NAMES[metric])


def degradation_headline(metric: Metric, normal: float | None, now: float) -> str:
    """The headline of a success rate that fell, in the direction of the metric."""
    rises = DIRECTIONS[metric] is Direction.LOW
    after, before = now, normal
    if rises:
        after, before = 1 - now, None if normal is None else 1 - normal
    if before is None:
        template = say("{name} rose to {after}") if rises else say("{name} fell to {after}")
        return template.format(name=metric_name(metric), after=f"{after:.0%}")
    template = (
        say("{name} rose from {before} to {after}")
        if rises
        else say("{name} fell from {before} to {after}")
    )
    return template.format(name=metric_name(metric), before=f"{before:.0%}", after=f"{after:.0%}")
