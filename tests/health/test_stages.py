"""The ladder of trust: which way is forward, and where an incident takes a profile."""

from __future__ import annotations

import pytest

from health.policy import STAGES as ALLOWED
from health.severity import Severity
from health.stages import LADDER, STAGES, allows_tools, is_tighter, next_stage, stage_after_incident


def test_the_way_up_is_one_rung_at_a_time() -> None:
    """Those beside the ladder begin where they stand."""
    assert [next_stage(stage) for stage in LADDER] == ["read_only", "write", "full", None]
    assert (next_stage("rejected"), next_stage("rolled_back")) == ("read_only", "write")


@pytest.mark.parametrize("stage", STAGES)
def test_a_tighter_stage_allows_less_than_another(stage: str) -> None:
    """In the words of the policy: fewer classes of tools."""
    assert allows_tools(stage) is bool(ALLOWED[stage])
    for other in STAGES:
        assert is_tighter(stage, other) is (len(ALLOWED[stage]) < len(ALLOWED[other]))


@pytest.mark.parametrize("stage", STAGES)
def test_incidents_only_ever_tighten(stage: str) -> None:
    """The more severe, the further; the mildest ones switch modes alone."""
    found = {severity: stage_after_incident(stage, severity) for severity in Severity}

    assert found[Severity.S1] is None
    assert all(to is None or is_tighter(to, stage) for to in found.values())
    assert (found[Severity.S2] == "rolled_back") is (stage in {"write", "full"})
    assert (found[Severity.S3] is None) is (not allows_tools(stage))
    assert set(ALLOWED) == set(STAGES)
