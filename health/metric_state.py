"""One metric of one profile under watch: what is normal, the detector's sums, an open alarm."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import inf
from typing import Any

from health import detector
from health.correlation import Spread
from health.detector import QUIET, Baseline, Lane, LogSums
from health.severity import Severity

# A relapse within this time after the last recovery makes the next one wait longer.
RELAPSE_WITHIN = timedelta(days=14)
DWELL, LONGEST_DWELL = timedelta(days=1), timedelta(days=28)


@dataclass(frozen=True, slots=True)
class Alarm:
    """A degradation that is open."""

    run: int
    at: datetime
    severity: Severity
    reference: float
    # The endpoint refused what it owes: that needs no statistics.
    refused: bool = False
    relapses: int = 0
    # Grows with runs that look like the baseline; an alarm ends only with enough of it.
    proof: float = 0.0
    # Somebody has allowed a most severe alarm to be left; asked for once.
    released: bool = False
    asked: bool = False

    @property
    def dwell(self) -> timedelta:
        """The alarm lasts at least this long."""
        return min(DWELL * (1 << min(self.relapses, 10)), LONGEST_DWELL)


@dataclass(frozen=True, slots=True)
class MetricState:
    """The state of one metric; all of it is JSON, so that it can be kept and replayed."""

    baseline: Baseline = field(default_factory=Baseline)
    absorbed_at: datetime | None = None
    # Fixed once the baseline is frozen.
    reference: float | None = None
    rho: float | None = None
    sums: LogSums = QUIET
    # Successes and trials of the last runs.
    recent: tuple[tuple[int, int], ...] = ()
    # Confirmation runs still wanted while the sums warn; null where they do not.
    confirmations: int | None = None
    alarm: Alarm | None = None
    left_at: datetime | None = None
    relapses: int = 0
    # It was so when the profile began, which is no degradation.
    refused_from_start: bool = False
    spread: Spread = field(default_factory=Spread)

    def judged_by(self, lane: Lane) -> float | None:
        """The reference that a run is compared with; None while too little is known."""
        if self.reference is not None:
            return self.reference
        if self.baseline.known(lane) is detector.Known.NONE:
            return None
        return self.baseline.reference(lane, rho=self.rho)

    def known(self, lane: Lane) -> detector.Known:
        if self.reference is not None:
            return detector.Known.FROZEN
        return self.baseline.known(lane)

    def as_json(self) -> dict[str, Any]:
        return {
            "baseline": [self.baseline.successes, self.baseline.trials, self.baseline.runs],
            "absorbed_at": _text(self.absorbed_at),
            "reference": self.reference,
            "rho": self.rho,
            "sums": [None if value == -inf else value for value in self.sums],
            "recent": [list(run) for run in self.recent],
            "confirmations": self.confirmations,
            "alarm": _alarm_json(self.alarm),
            "left_at": _text(self.left_at),
            "relapses": self.relapses,
            "refused_from_start": self.refused_from_start,
            "spread": _spread_json(self.spread),
        }


def metric_state_from_json(value: dict[str, Any]) -> MetricState:
    """The gauge that was kept."""
    return MetricState(
        baseline=Baseline(*value["baseline"]),
        absorbed_at=_time(value["absorbed_at"]),
        reference=value["reference"],
        rho=value["rho"],
        sums=tuple(-inf if each is None else each for each in value["sums"]),
        recent=tuple((good, trials) for good, trials in value["recent"]),
        confirmations=value["confirmations"],
        alarm=_alarm(value["alarm"]),
        left_at=_time(value["left_at"]),
        relapses=value["relapses"],
        refused_from_start=value["refused_from_start"],
        spread=_spread(value["spread"]),
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


def _alarm(value: dict[str, Any] | None) -> Alarm | None:
    if value is None:
        return None
    at, severity = datetime.fromisoformat(value["at"]), Severity(value["severity"])
    return Alarm(**{**value, "at": at, "severity": severity})


def _spread_json(spread: Spread) -> list[Any]:
    return [
        _text(spread.since),
        spread.runs,
        spread.successes,
        spread.trials,
        spread.squares,
    ]


def _spread(value: list[Any]) -> Spread:
    return Spread(_time(value[0]), *value[1:])


def _text(at: datetime | None) -> str | None:
    return at.isoformat() if at else None


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
