"""What each stage asks for before anybody may ask for it: a table that people edit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from health.detector import PROBE, Known
from health.rates import DIRECTIONS
from health.stages import LADDER
from health.translation import say
from probes.outcomes import Metric

# The stages that can be asked for.
PROMOTION_STAGES = LADDER[1:]
LONGEST_AGE = 24 * 365
MOST_RUNS, MOST_TRIALS = 1000, 1_000_000
MOST_INCIDENTS = 20
# No reference lies above it, so nothing could ever pass a higher bar.
HIGHEST_RATE = PROBE.highest


@dataclass(frozen=True, slots=True)
class Gate:
    """The conditions of one stage. Rates are success rates, whichever way a metric is shown."""

    # Finished runs of the profile, and how many of them asked the full suite.
    runs: int = 1
    full_runs: int = 1
    # Trials of parse success.
    trials: int = 0
    rates: Mapping[Metric, float] = field(default_factory=dict)
    # How much must be known about what is normal.
    baseline: Known = Known.PROVISIONAL
    open_incidents: int = 0
    age: timedelta = timedelta()
    # Live traffic is judged from so many trials on; where it is wanted, fewer are no data.
    live_trials: int = 200
    live_wanted: bool = False
    live_rates: Mapping[Metric, float] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {
            "runs": self.runs,
            "full_runs": self.full_runs,
            "trials": self.trials,
            "rates": {metric.value: rate for metric, rate in self.rates.items()},
            "baseline": self.baseline.value,
            "open_incidents": self.open_incidents,
            "age_hours": self.age / timedelta(hours=1),
            "live_trials": self.live_trials,
            "live_wanted": self.live_wanted,
            "live_rates": {metric.value: rate for metric, rate in self.live_rates.items()},
        }


@dataclass(frozen=True, slots=True)
class Gates:
    """The gate in front of each stage that can be asked for."""

    of: Mapping[str, Gate]

    def as_json(self) -> dict[str, Any]:
        return {stage: self.of[stage].as_json() for stage in PROMOTION_STAGES}


DEFAULTS = Gates(
    MappingProxyType(
        {
            "read_only": Gate(
                trials=30,
                rates={
                    Metric.PARSE_SUCCESS: 0.80,
                    Metric.SCHEMA_FAILURE: 0.70,
                    Metric.CLOSURE_ERROR: 0.80,
                },
            ),
            "write": Gate(
                runs=20,
                trials=200,
                rates={
                    Metric.PARSE_SUCCESS: 0.90,
                    Metric.SCHEMA_FAILURE: 0.85,
                    Metric.CLOSURE_ERROR: 0.90,
                },
                baseline=Known.FROZEN,
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
                },
                baseline=Known.FROZEN,
                age=timedelta(hours=72),
                live_rates={Metric.PARSE_SUCCESS: 0.95, Metric.SCHEMA_FAILURE: 0.90},
            ),
        }
    )
)


def gates_from_json(body: Mapping[str, Any]) -> Gates:
    """The gates that were kept. `mistakes` says first whether they can be read."""
    return Gates({stage: _gate(body[stage]) for stage in PROMOTION_STAGES})


def find_gate_errors(body: object) -> list[tuple[str, str]]:
    """What is wrong with gates that somebody wrote: where, such as "write.rates.leak", and why."""
    if not isinstance(body, Mapping):
        return [("", say("Gates are an object with one entry for each stage."))]
    found = [(str(name), say("No stage of that name can be asked for.")) for name in body]
    found = [each for each in found if each[0] not in PROMOTION_STAGES]
    for stage in PROMOTION_STAGES:
        gate = body.get(stage)
        if isinstance(gate, Mapping):
            found += [(f"{stage}.{path}", why) for path, why in _of_gate(gate)]
        else:
            found.append((stage, say("The conditions of this stage are missing.")))
    return found


def _gate(body: Mapping[str, Any]) -> Gate:
    return Gate(
        runs=body["runs"],
        full_runs=body["full_runs"],
        trials=body["trials"],
        rates=_rates(body["rates"]),
        baseline=Known(body["baseline"]),
        open_incidents=body["open_incidents"],
        age=timedelta(hours=body["age_hours"]),
        live_trials=body["live_trials"],
        live_wanted=body["live_wanted"],
        live_rates=_rates(body["live_rates"]),
    )


def _rates(body: Mapping[str, float]) -> dict[Metric, float]:
    """In the order of the metrics, so that equal tables look the same."""
    return {metric: float(body[metric.value]) for metric in DIRECTIONS if metric.value in body}


def _of_gate(gate: Mapping[str, Any]) -> list[tuple[str, str]]:
    wanted = set(Gate().as_json())
    found = [(str(name), say("There is no such condition.")) for name in gate if name not in wanted]
    found += [(name, say("This condition is missing.")) for name in sorted(wanted - gate.keys())]
    for name, most in _COUNTS.items():
        if name in gate and not _is_count(gate[name], most):
            told = say("It must be a whole number from 0 to {most}.")
            found.append((name, told.format(most=most)))
    if "age_hours" in gate and not _is_number(gate["age_hours"], LONGEST_AGE):
        told = say("It must be a number of hours from 0 to {most}.")
        found.append(("age_hours", told.format(most=LONGEST_AGE)))
    if "baseline" in gate and gate["baseline"] not in tuple(Known):
        found.append(("baseline", say("It must be none, provisional or frozen.")))
    if "live_wanted" in gate and not isinstance(gate["live_wanted"], bool):
        found.append(("live_wanted", say("It must be yes or no.")))
    for name in ("rates", "live_rates"):
        found += _of_rates(name, gate.get(name, {}))
    return found


def _of_rates(name: str, rates: object) -> list[tuple[str, str]]:
    if not isinstance(rates, Mapping):
        return [(name, say("It must name metrics, each with a success rate."))]
    told = say("It must be a success rate from 0 to {most}.").format(most=HIGHEST_RATE)
    known = {metric.value for metric in DIRECTIONS}
    return [
        (f"{name}.{metric}", told if metric in known else say("There is no such metric."))
        for metric, rate in rates.items()
        if metric not in known or not _is_number(rate, HIGHEST_RATE)
    ]


def _is_count(value: object, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


def _is_number(value: object, most: float) -> bool:
    # What is not a number is between nothing.
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= most


_COUNTS = {
    "runs": MOST_RUNS,
    "full_runs": MOST_RUNS,
    "trials": MOST_TRIALS,
    "open_incidents": MOST_INCIDENTS,
    "live_trials": MOST_TRIALS,
}
