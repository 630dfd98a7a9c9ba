"""Stages: how far a profile is trusted, which way is forward, and when it steps back by itself.

Going forward is a person's decision, one rung at a time. Going back needs nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from health.severity import Severity

LADDER = ("shadow", "read_only", "write", "full")
# Beside the ladder: on which rung each of them stands.
BESIDE: Mapping[str, str] = MappingProxyType({"rejected": "shadow", "rolled_back": "read_only"})
STAGES = (*LADDER, *BESIDE)


def ladder_position(stage: str) -> int:
    """How far up the ladder a stage stands."""
    return LADDER.index(BESIDE.get(stage, stage))


def next_stage(stage: str) -> str | None:
    """The stage that may be asked for; None at the top."""
    place = ladder_position(stage) + 1
    return LADDER[place] if place < len(LADDER) else None


def is_tighter(stage: str, than: str) -> bool:
    """Whether a stage allows less than another one."""
    return ladder_position(stage) < ladder_position(than)


def allows_tools(stage: str) -> bool:
    """Whether callers get any tools at that stage."""
    return ladder_position(stage) > 0


def stage_after_incident(stage: str, severity: Severity) -> str | None:
    """Where an incident of that severity takes a stage; None where it stays."""
    if stage in {"write", "full"} and severity >= Severity.S2:
        return "rolled_back"
    if stage in {"read_only", "rolled_back"} and severity >= Severity.S3:
        return "shadow"
    return None
