"""What docs/rollouts.md promises."""

from __future__ import annotations

import re
from datetime import timedelta

from health.gates import DEFAULTS, PROMOTION_STAGES, ConditionState, Gate
from health.policy import RISKS_BY_STAGE
from health.severity import Severity
from health.stages import next_stage, stage_after_incident
from probes.outcomes import Metric
from tests.live import ROOT

PAGE = (ROOT / "docs" / "rollouts.md").read_text()
PARSE, SCHEMA, CLOSURE = Metric.PARSE_SUCCESS, Metric.SCHEMA_FAILURE, Metric.CLOSURE_ERROR


def test_the_default_gates_on_the_page_are_those_that_hold() -> None:
    """Number for number."""
    for place, stage in enumerate(PROMOTION_STAGES):
        rows = {row[0]: row[1 + place] for row in cells(f"| condition | `{PROMOTION_STAGES[0]}`")}
        assert rows == told(DEFAULTS.by_stage[stage]), stage
    assert all(
        gate.live_trials == 200 and not gate.live_wanted for gate in DEFAULTS.by_stage.values()
    )


def test_every_stage_and_state_is_explained() -> None:
    """With the stage that follows it, and where incidents lead."""
    follows = {row[0].strip("`"): row[2].strip("`") for row in cells("| stage | callers")}
    assert follows == {stage: next_stage(stage) or "none" for stage in RISKS_BY_STAGE}
    assert [row[0].strip("`") for row in cells("| state | meaning")] == list(ConditionState)
    for severities, at, to in cells("| incident | at"):
        for severity in re.findall(r"\d", severities):
            for stage in re.findall(r"`(\w+)`", at):
                assert stage_after_incident(stage, Severity(int(severity))) == to.strip("`")


def cells(head: str) -> list[list[str]]:
    """The rows of the table that begins so, without its head."""
    lines = PAGE[PAGE.index(head) :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def told(gate: Gate) -> dict[str, str]:
    def share(rate: float | None) -> str:
        return "–" if rate is None else f"{rate:.0%}"

    return {
        "finished runs, at least": str(gate.runs),
        "of them with the full suite": str(gate.full_runs),
        "trials of parse success": str(gate.trials),
        "parse success": share(gate.rates.get(PARSE)),
        "schemas kept": share(gate.rates.get(SCHEMA)),
        "closures kept": share(gate.rates.get(CLOSURE)),
        "what is normal is known": gate.baseline.value,
        "open incidents, at most": str(gate.open_incidents),
        "hours at the present stage": f"{gate.age / timedelta(hours=1):g}",
        "live parse success": share(gate.live_rates.get(PARSE)),
        "live schemas kept": share(gate.live_rates.get(SCHEMA)),
    }
