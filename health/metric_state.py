"""The state of one watched metric: its baseline, the detector's sums, and an open alarm."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import inf
from typing import Any

from health import detector
from health.change_point import RunCount
from health.correlation import Spread
from health.detector import QUIET, Baseline, Lane, LogSums
from health.severity import Severity

# A relapse this soon after a recovery makes the next alarm last longer.
RELAPSE_WITHIN = timedelta(days=14)
DWELL, MAX_DWELL = timedelta(days=1), timedelta(days=28)


@dataclass(frozen=True, slots=True)
class Alarm:
    """An open degradation."""

    run: int
    at: datetime
    severity: Severity
    reference: float
    # Opened by refusals of the endpoint, without statistics.
    refused: bool = False
    relapses: int = 0
    # Log likelihood ratio of runs that look like the baseline; enough of it ends the alarm.
    proof: float = 0.0
    # An alarm of the highest severity needs a release by a person. It is requested when the alarm
    # has recovered, and withdrawn when later runs are bad.
    released: bool = False
    asked: bool = False

    @property
    def dwell(self) -> timedelta:
        """The minimum duration of the alarm; it doubles with every relapse."""
        return min(DWELL * (1 << min(self.relapses, 10)), MAX_DWELL)


@dataclass(frozen=True, slots=True)
class MetricState:
    """The state of one metric, stored as JSON."""

    baseline: Baseline = field(default_factory=Baseline)
    absorbed_at: datetime | None = None
    # Fixed once the baseline is frozen.
    reference: float | None = None
    rho: float | None = None
    sums: LogSums = QUIET
    # Successes and trials of the last runs; while an alarm is open, only of those since the change.
    recent: tuple[RunCount, ...] = ()
    # Remaining confirmation runs while the sums warn; None while they do not.
    confirmations: int | None = None
    alarm: Alarm | None = None
    recovered_at: datetime | None = None
    relapses: int = 0
    # Refused since the profile began, which is no degradation.
    refused_from_start: bool = False
    spread: Spread = field(default_factory=Spread)

    def current_reference(self, lane: Lane) -> float | None:
        """The reference that runs are compared with; None without a baseline."""
        if self.reference is not None:
            return self.reference
        if self.baseline.known(lane) is detector.BaselineState.NONE:
            return None
        return self.baseline.reference(lane, rho=self.rho)

    def known(self, lane: Lane) -> detector.BaselineState:
        if self.reference is not None:
            return detector.BaselineState.FROZEN
        # The trials alone do not freeze a baseline: how many it takes depends on the cadence.
        is_none = self.baseline.known(lane) is detector.BaselineState.NONE
        return detector.BaselineState.NONE if is_none else detector.BaselineState.PROVISIONAL

    def as_json(self) -> dict[str, Any]:
        return {
            "baseline": [self.baseline.successes, self.baseline.trials, self.baseline.runs],
            "absorbed_at": _time_json(self.absorbed_at),
            "reference": self.reference,
            "rho": self.rho,
            "sums": [None if value == -inf else value for value in self.sums],
            "recent": [list(run) for run in self.recent],
            "confirmations": self.confirmations,
            "alarm": _alarm_json(self.alarm),
            "left_at": _time_json(self.recovered_at),
            "relapses": self.relapses,
            "refused_from_start": self.refused_from_start,
            "spread": _spread_json(self.spread),
        }


def metric_state_from_json(value: dict[str, Any]) -> MetricState:
    """Read a stored state."""
    return MetricState(
        baseline=Baseline(*value["baseline"]),
        absorbed_at=_time_from_json(value["absorbed_at"]),
        reference=value["reference"],
        rho=value["rho"],
        sums=tuple(-inf if sum_ is None else sum_ for sum_ in value["sums"]),
        recent=tuple((good, trials) for good, trials in value["recent"]),
        confirmations=value["confirmations"],
        alarm=_alarm_from_json(value["alarm"]),
        recovered_at=_time_from_json(value["left_at"]),
        relapses=value["relapses"],
        refused_from_start=value["refused_from_start"],
        spread=_spread_from_json(value["spread"]),
    )


def _alarm_json(alarm: Alarm | None) -> dict[str, Any] | None:
    if alarm is None:
        return None
    return {
        "run": alarm.run,
        "at": alarm.at.isoformat(),
        "severity": alarm.severity.value,
        "reference": alarm.reference,
        "refused": alarm.refused,
        "relapses": alarm.relapses,
        "proof": alarm.proof,
        "released": alarm.released,
        "asked": alarm.asked,
    }


def _alarm_from_json(value: dict[str, Any] | None) -> Alarm | None:
    if value is None:
        return None
    at, severity = datetime.fromisoformat(value["at"]), Severity(value["severity"])
    return Alarm(**{**value, "at": at, "severity": severity})


def _spread_json(spread: Spread) -> list[Any]:
    return [
        _time_json(spread.since),
        spread.runs,
        spread.successes,
        spread.trials,
        spread.squares,
    ]


def _spread_from_json(value: list[Any]) -> Spread:
    return Spread(_time_from_json(value[0]), *value[1:])


def _time_json(at: datetime | None) -> str | None:
    return at.isoformat() if at else None


def _time_from_json(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
