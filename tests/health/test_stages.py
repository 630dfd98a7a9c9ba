"""The order of the stages, and the stage after an incident."""

from __future__ import annotations

import pytest

from health.policy import RISKS_BY_STAGE as ALLOWED
from health.severity import Severity
from health.stages import LADDER, STAGES, allows_tools, is_tighter, next_stage, stage_after_incident


def test_a_promotion_is_one_stage_up() -> None:
    """Stages outside the ladder continue from their ladder stage."""
    assert [next_stage(stage) for stage in LADDER] == ["read_only", "write", "full", None]
    assert (next_stage("rejected"), next_stage("rolled_back")) == ("read_only", "write")


@pytest.mark.parametrize("stage", STAGES)
def test_a_tighter_stage_allows_less_than_another(stage: str) -> None:
    """A tighter stage allows fewer risk classes in the policy."""
    assert allows_tools(stage) is bool(ALLOWED[stage])
    for other in STAGES:
        assert is_tighter(stage, other) is (len(ALLOWED[stage]) < len(ALLOWED[other]))


@pytest.mark.parametrize("stage", STAGES)
def test_incidents_only_ever_tighten(stage: str) -> None:
    """Higher severities step further back; the mildest only turns modes on."""
    stages_after = {severity: stage_after_incident(stage, severity) for severity in Severity}

    assert stages_after[Severity.S1] is None
    assert all(to is None or is_tighter(to, stage) for to in stages_after.values())
    assert (stages_after[Severity.S2] == "rolled_back") is (stage in {"write", "full"})
    assert (stages_after[Severity.S3] is None) is (not allows_tools(stage))
    assert set(ALLOWED) == set(STAGES)
