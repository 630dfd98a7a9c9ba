"""Regressions between an earlier report and a new one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from health.rates import DIRECTIONS, Direction
from probes.outcomes import Metric

# From best to worst: more work for the client is worse.
_RANKS: Mapping[str, tuple[object, ...]] = {
    "schema_level": ("strict_json_schema", "simple_object", "string_only", "none"),
    "error_repair": ("reliable", "limited", "none"),
    "result_use": ("reliable", "limited", "none"),
    "value_fidelity": ("reliable", "limited", "none"),
    "reasoning_replay": (
        "none",
        "tolerated",
        "required_same_turn",
        "required_all_turns",
        "rejected",
    ),
    "supports_parallel_tool_use": (True, False),
    "parallel": ("any", "mixed", "none"),
    "supports_streaming_tool_use": (True, False),
}
_UNKNOWN = (None, "unknown")


def find_regressions(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """One sentence per regression. A capability that became unknown is no regression."""
    return [*_capability_regressions(before, now), *_metric_regressions(before, now)]


def _capability_regressions(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    earlier, later = before["capabilities"], now["capabilities"]
    for name, ranks in _RANKS.items():
        old, new = earlier.get(name), later.get(name)
        if old in ranks and new in ranks and ranks.index(new) > ranks.index(old):
            yield f"{name} was {old} and is {new}."
    old, new = earlier.get("tool_call_format"), later.get("tool_call_format")
    if old not in _UNKNOWN and new not in _UNKNOWN and _distance(new) > _distance(old):
        yield f"tool_call_format was {old} and is {new}."
    old, new = earlier.get("tool_choice"), later.get("tool_choice")
    both = isinstance(old, list) and isinstance(new, list)
    lost = [choice for choice in old if choice not in new] if both else []
    if lost:
        yield f"tool_choice no longer takes {', '.join(lost)}."


def _distance(form: object) -> int:
    """0 for calls on the wire, 1 for calls in the text or in several formats, 2 for none."""
    return {"json_text": 1, "xml": 1, "unsettled": 1, "none": 2}.get(str(form), 0)


def _metric_regressions(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Rates that got worse by so much that their intervals no longer overlap."""
    for metric, good in DIRECTIONS.items():
        old = before.get("metrics", {}).get(metric) or {}
        new = now.get("metrics", {}).get(metric) or {}
        if old.get("rate") is None or new.get("rate") is None or metric is Metric.AVAILABILITY:
            continue
        fell = good is Direction.HIGH and new["high"] < old["low"]
        rose = good is Direction.LOW and new["low"] > old["high"]
        if fell or rose:
            yield f"{metric} was {old['rate']:.3f} and is {new['rate']:.3f}."
