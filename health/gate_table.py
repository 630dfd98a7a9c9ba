"""The promotion criteria of each stage: an editable table, with its JSON and its validation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from health.detector import PROBE, BaselineState
from health.rates import DIRECTIONS
from health.stages import LADDER
from health.translation import say
from probes.outcomes import Metric

# The stages that a promotion can lead to.
PROMOTION_STAGES = LADDER[1:]
LONGEST_AGE = 24 * 365
MOST_RUNS, MOST_TRIALS = 1000, 1_000_000
MOST_INCIDENTS = 20
# No reference is higher, so no endpoint could meet a higher criterion.
HIGHEST_RATE = PROBE.highest


@dataclass(frozen=True, slots=True)
class Gate:
    """The conditions of one stage. Rates are success rates, also of metrics where low is good."""

    # Finished runs of the profile, and how many of them ran the full suite.
    runs: int = 1
    full_runs: int = 1
    # Trials of parse success.
    trials: int = 0
    rates: Mapping[Metric, float] = field(default_factory=dict)
    # Whether an ordinary SDK must work with the endpoint, whole and streamed.
    ordinary_client: bool = False
    # The baseline state that is required at least.
    baseline: BaselineState = BaselineState.PROVISIONAL
    open_incidents: int = 0
    age: timedelta = timedelta()
    # Live traffic is judged from this many trials on. Fewer count as no data if it is required.
    live_trials: int = 200
    live_wanted: bool = False
    live_rates: Mapping[Metric, float] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {
            "runs": self.runs,
            "full_runs": self.full_runs,
            "trials": self.trials,
            "rates": {metric.value: rate for metric, rate in self.rates.items()},
            "ordinary_client": self.ordinary_client,
            "baseline": self.baseline.value,
            "open_incidents": self.open_incidents,
            "age_hours": self.age / timedelta(hours=1),
            "live_trials": self.live_trials,
            "live_wanted": self.live_wanted,
            "live_rates": {metric.value: rate for metric, rate in self.live_rates.items()},
        }


@dataclass(frozen=True, slots=True)
class Gates:
    """The gate in front of each promotion stage."""

    by_stage: Mapping[str, Gate]

    def as_json(self) -> dict[str, Any]:
        return {stage: self.by_stage[stage].as_json() for stage in PROMOTION_STAGES}


DEFAULTS = Gates(
    MappingProxyType(
        {
            "read_only": Gate(
                trials=30,
                rates={
                    Metric.PARSE_SUCCESS: 0.80,
                    Metric.SCHEMA_FAILURE: 0.70,
                    Metric.CLOSURE_ERROR: 0.80,
                    Metric.RESULT_USE: 0.70,
                    Metric.VALUE_FIDELITY: 0.85,
                },
                ordinary_client=True,
            ),
            "write": Gate(
                runs=20,
                trials=200,
                rates={
                    Metric.PARSE_SUCCESS: 0.90,
                    Metric.SCHEMA_FAILURE: 0.85,
                    Metric.CLOSURE_ERROR: 0.90,
                    Metric.RESULT_USE: 0.80,
                    Metric.VALUE_FIDELITY: 0.90,
                },
                ordinary_client=True,
                baseline=BaselineState.FROZEN,
                age=timedelta(hours=24),
                live_rates={Metric.PARSE_SUCCESS: 0.90, Metric.SCHEMA_FAILURE: 0.85},
            ),
            "full": Gate(
                runs=30,
                full_runs=2,
                trials=300,
                rates={
                    Metric.PARSE_SUCCESS: 0.95,
                    Metric.SCHEMA_FAILURE: 0.90,
                    Metric.CLOSURE_ERROR: 0.95,
                    Metric.RESULT_USE: 0.90,
                    Metric.VALUE_FIDELITY: 0.95,
                },
                ordinary_client=True,
                baseline=BaselineState.FROZEN,
                age=timedelta(hours=72),
                live_rates={Metric.PARSE_SUCCESS: 0.95, Metric.SCHEMA_FAILURE: 0.90},
            ),
        }
    )
)


def gates_from_json(body: Mapping[str, Any]) -> Gates:
    """Read stored gates. `find_gate_errors` validates them first."""
    return Gates({stage: _gate_from_json(body[stage]) for stage in PROMOTION_STAGES})


def find_gate_errors(body: object) -> list[tuple[str, str]]:
    """Validate edited gates: (path, message) pairs, with paths such as "write.rates.leak"."""
    if not isinstance(body, Mapping):
        return [("", say("Gates are an object with one entry for each stage."))]
    errors = [(str(name), say("No stage of that name can be asked for.")) for name in body]
    errors = [error for error in errors if error[0] not in PROMOTION_STAGES]
    for stage in PROMOTION_STAGES:
        gate = body.get(stage)
        if isinstance(gate, Mapping):
            errors += [(f"{stage}.{path}", message) for path, message in _gate_errors(gate)]
        else:
            errors.append((stage, say("The conditions of this stage are missing.")))
    return errors


def _gate_from_json(body: Mapping[str, Any]) -> Gate:
    return Gate(
        runs=body["runs"],
        full_runs=body["full_runs"],
        trials=body["trials"],
        rates=_rates_from_json(body["rates"]),
        # Versions that were stored before this condition existed do not have it.
        ordinary_client=body.get("ordinary_client", False),
        baseline=BaselineState(body["baseline"]),
        open_incidents=body["open_incidents"],
        age=timedelta(hours=body["age_hours"]),
        live_trials=body["live_trials"],
        live_wanted=body["live_wanted"],
        live_rates=_rates_from_json(body["live_rates"]),
    )


def _rates_from_json(body: Mapping[str, float]) -> dict[Metric, float]:
    """In the order of the metrics, so that equal tables have equal JSON."""
    return {metric: float(body[metric.value]) for metric in DIRECTIONS if metric.value in body}


def _gate_errors(gate: Mapping[str, Any]) -> list[tuple[str, str]]:
    names = set(Gate().as_json())
    errors = [(str(name), say("There is no such condition.")) for name in gate if name not in names]
    errors += [(name, say("This condition is missing.")) for name in sorted(names - gate.keys())]
    for name, maximum in _COUNTS.items():
        if name in gate and not _is_count(gate[name], maximum):
            message = say("It must be a whole number from 0 to {most}.")
            errors.append((name, message.format(most=maximum)))
    if "age_hours" in gate and not _is_number(gate["age_hours"], LONGEST_AGE):
        message = say("It must be a number of hours from 0 to {most}.")
        errors.append(("age_hours", message.format(most=LONGEST_AGE)))
    if "baseline" in gate and gate["baseline"] not in tuple(BaselineState):
        errors.append(("baseline", say("It must be none, provisional or frozen.")))
    for name in ("ordinary_client", "live_wanted"):
        if name in gate and not isinstance(gate[name], bool):
            errors.append((name, say("It must be yes or no.")))
    for name in ("rates", "live_rates"):
        errors += _rate_errors(name, gate.get(name, {}))
    return errors


def _rate_errors(name: str, rates: object) -> list[tuple[str, str]]:
    if not isinstance(rates, Mapping):
        return [(name, say("It must name metrics, each with a success rate."))]
    message = say("It must be a success rate from 0 to {most}.").format(most=HIGHEST_RATE)
    known = {metric.value for metric in DIRECTIONS}
    return [
        (f"{name}.{metric}", message if metric in known else say("There is no such metric."))
        for metric, rate in rates.items()
        if metric not in known or not _is_number(rate, HIGHEST_RATE)
    ]


def _is_count(value: object, maximum: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= maximum


def _is_number(value: object, maximum: float) -> bool:
    # NaN fails both comparisons.
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= maximum


_COUNTS = {
    "runs": MOST_RUNS,
    "full_runs": MOST_RUNS,
    "trials": MOST_TRIALS,
    "open_incidents": MOST_INCIDENTS,
    "live_trials": MOST_TRIALS,
}
