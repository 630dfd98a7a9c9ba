"""What a degradation is called: titles that say the finding."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from health.metrics import DIRECTIONS, Good
from probes.attempts import Metric

NAMES: Mapping[Metric, str] = MappingProxyType(
    {
        Metric.PARSE_SUCCESS: "Parse success",
        Metric.SCHEMA_FAILURE: "Schema failures",
        Metric.CLOSURE_ERROR: "Closure errors",
        Metric.REASONING_REPLAY_ERROR: "Reasoning replay errors",
        Metric.REPAIR_SUCCESS: "Repair success",
        Metric.PARALLEL_DOWNGRADE: "Lost parallel calls",
        Metric.UNSAFE_BLOCKED: "Blocked calls",
        Metric.AVAILABILITY: "Availability",
        Metric.LEAK: "Leaked calls",
        Metric.REASONING_ONLY: "Turns with reasoning alone",
        Metric.STREAM_DISAGREEMENT: "Streams that differ",
    }
)


def headline(metric: Metric, normal: float | None, now: float) -> str:
    """One sentence for a success rate that fell; shown the way the metric is."""
    name = NAMES[metric]
    if DIRECTIONS[metric] is Good.HIGH:
        verb, before, after = "fell", normal, now
    else:
        verb, before, after = "rose", None if normal is None else 1 - normal, 1 - now
    if before is None:
        return f"{name} {verb} to {after:.0%}"
    return f"{name} {verb} from {before:.0%} to {after:.0%}"
