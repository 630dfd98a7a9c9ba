"""Rollout stages: their order, the next stage, and the stage after an incident.

A promotion goes one stage up and is a person's decision. A step back is automatic.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from health.severity import Severity

LADDER = ("shadow", "read_only", "write", "full")
# Stages outside the ladder, each with the ladder stage that it equals.
OFF_LADDER: Mapping[str, str] = MappingProxyType({"rejected": "shadow", "rolled_back": "read_only"})
STAGES = (*LADDER, *OFF_LADDER)


def ladder_position(stage: str) -> int:
    """The index of a stage on the ladder."""
    return LADDER.index(OFF_LADDER.get(stage, stage))


def next_stage(stage: str) -> str | None:
    """The stage that a promotion leads to; None at the top."""
    place = ladder_position(stage) + 1
    return LADDER[place] if place < len(LADDER) else None


def is_tighter(stage: str, than: str) -> bool:
    """Whether a stage allows less than another stage."""
    return ladder_position(stage) < ladder_position(than)


def allows_tools(stage: str) -> bool:
    """Whether callers get any tools at this stage."""
    return ladder_position(stage) > 0


def stage_after_incident(stage: str, severity: Severity) -> str | None:
    """The stage that an incident of this severity steps back to; None if the stage stays."""
    if stage in {"write", "full"} and severity >= Severity.S2:
        return "rolled_back"
    if stage in {"read_only", "rolled_back"} and severity >= Severity.S3:
        return "shadow"
    return None
