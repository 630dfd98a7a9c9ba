"""docs/rollouts.md matches the code."""

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


def test_the_documented_default_gates_are_the_real_ones() -> None:
    """Every condition in the table has the value of the default gates."""
    for column, stage in enumerate(PROMOTION_STAGES):
        rows = {
            row[0]: row[1 + column] for row in table_rows(f"| condition | `{PROMOTION_STAGES[0]}`")
        }
        assert rows == documented_conditions(DEFAULTS.by_stage[stage]), stage
    documented = {Metric.RESULT_USE, Metric.VALUE_FIDELITY, PARSE, SCHEMA, CLOSURE}
    assert all(set(gate.rates) == documented for gate in DEFAULTS.by_stage.values())
    assert all(
        gate.live_trials == 200 and not gate.live_wanted for gate in DEFAULTS.by_stage.values()
    )


def test_every_stage_and_state_is_documented() -> None:
    """With the next stage, and the stage after an incident."""
    next_stages = {row[0].strip("`"): row[2].strip("`") for row in table_rows("| stage | callers")}
    assert next_stages == {stage: next_stage(stage) or "none" for stage in RISKS_BY_STAGE}
    assert [row[0].strip("`") for row in table_rows("| state | meaning")] == list(ConditionState)
    for severities, at, to in table_rows("| incident | at"):
        for severity in re.findall(r"\d", severities):
            for stage in re.findall(r"`(\w+)`", at):
                assert stage_after_incident(stage, Severity(int(severity))) == to.strip("`")


def table_rows(header: str) -> list[list[str]]:
    """The cells of the table with that header, without the header."""
    lines = PAGE[PAGE.index(header) :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def documented_conditions(gate: Gate) -> dict[str, str]:
    def percent(rate: float | None) -> str:
        return "–" if rate is None else f"{rate:.0%}"

    return {
        "finished runs, at least": str(gate.runs),
        "of them with the full suite": str(gate.full_runs),
        "trials of parse success": str(gate.trials),
        "parse success": percent(gate.rates.get(PARSE)),
        "schema success": percent(gate.rates.get(SCHEMA)),
        "closure success": percent(gate.rates.get(CLOSURE)),
        "result use": percent(gate.rates.get(Metric.RESULT_USE)),
        "value fidelity": percent(gate.rates.get(Metric.VALUE_FIDELITY)),
        "an ordinary SDK works": "yes" if gate.ordinary_client else "–",
        "baseline": gate.baseline.value,
        "open incidents, at most": str(gate.open_incidents),
        "hours at the current stage": f"{gate.age / timedelta(hours=1):g}",
        "live parse success": percent(gate.live_rates.get(PARSE)),
        "live schema success": percent(gate.live_rates.get(SCHEMA)),
    }
