"""One metric of one run: what it changes in its gauge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from math import inf, log
from typing import Any

from health import detector
from health.correlation import Spread, raise_correlation
from health.detector import QUIET, Known, Lane, Verdict
from health.metric_state import RELAPSE_WITHIN, Alarm, MetricState
from health.modes import fallback_modes
from health.severity import LOOKED_AT, Severity, estimate_rate, judge_severity
from probes.outcomes import Metric

CONFIRMATIONS = 4
# Runs of a baseline lie at least this far apart.
APART = timedelta(minutes=5)
# Refusals that make a case without statistics: this many, and half of the trials.
FEWEST_REFUSALS = 2
# Without a baseline, what an endpoint that never refused is compared with.
UNTOUCHED = 0.95
YEAR = timedelta(days=365)
# The proof of recovery that is asked for, and all that is kept: weeks of good runs, while an alarm
# dwells or waits to be released, must not speak for an endpoint that has become bad again.
PROVEN = log(detector.RECOVERED)


@dataclass(frozen=True, slots=True)
class MetricCount:
    """The trials of one metric in one run; `refused` of them were refused by the endpoint."""

    trials: int
    failures: int
    refused: int = 0


@dataclass(frozen=True, slots=True)
class WatchedRun:
    """One run as the watch sees it. Numbers grow; the cadence sets the threshold."""

    number: int
    at: datetime
    suite_version: str
    every: timedelta
    counts: Mapping[Metric, MetricCount]
    # The most severe that an alarm may become by this lane alone.
    most: Mapping[Metric, Severity] = field(default_factory=dict)

    @property
    def log_threshold(self) -> float:
        return detector.alarm_threshold(YEAR / self.every)


class ChangeKind(StrEnum):
    """What can change."""

    FROZEN = "frozen"
    WARNED = "warned"
    CALMED = "calmed"
    OPENED = "opened"
    ESCALATED = "escalated"
    EASED = "eased"
    RELEASE_WANTED = "release_wanted"
    RECOVERED = "recovered"
    SUPERSEDED = "superseded"
    CORRELATED = "correlated"


@dataclass(frozen=True, slots=True)
class WatchChange:
    """Something that a run changed, with the figures that it rests on."""

    kind: ChangeKind
    metric: Metric
    severity: Severity | None = None
    figures: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MetricStep:
    """One metric of one run."""

    metric: Metric
    count: MetricCount
    seen: WatchedRun
    lane: Lane
    is_first: bool

    @property
    def successes(self) -> int:
        return self.count.trials - self.count.failures

    def follow(self, gauge: MetricState) -> tuple[MetricState, list[WatchChange]]:
        recent = (*gauge.recent, (self.successes, self.count.trials))[-LOOKED_AT:]
        gauge = replace(gauge, recent=recent)
        if gauge.alarm:
            return self._in_alarm(gauge, gauge.alarm)
        if self._has_nothing_to_lose(gauge):
            return self._absorbed(replace(gauge, sums=QUIET, confirmations=None))
        if self._is_refused():
            if self.is_first or gauge.refused_from_start:
                gauge = replace(gauge, refused_from_start=True)
            else:
                return self._opened(gauge, gauge.judged_by(self.lane) or UNTOUCHED, refused=True)
        gauge, changes = self._summed(gauge)
        if gauge.alarm:
            return gauge, changes
        gauge, found = self._absorbed(gauge)
        return gauge, changes + found

    def _level(self, runs: tuple[tuple[int, int], ...], reference: float) -> Severity:
        most = self.seen.most.get(self.metric, Severity.S3)
        return min(judge_severity(self.metric, estimate_rate(runs), reference), most)

    def _has_nothing_to_lose(self, gauge: MetricState) -> bool:
        """Whether it never worked: a reference lifted to the lowest would be missed for ever."""
        reference = gauge.judged_by(self.lane)
        return reference is not None and reference <= detector.LOWEST_REFERENCE

    def _is_refused(self) -> bool:
        refused = self.count.refused
        return refused >= FEWEST_REFUSALS and refused * 2 >= self.count.trials

    def _summed(self, gauge: MetricState) -> tuple[MetricState, list[WatchChange]]:
        reference = gauge.judged_by(self.lane)
        if reference is None:
            return gauge, []
        ratios = detector.log_ratios(
            self.successes,
            self.count.trials,
            reference,
            self.seen.log_threshold,
            lane=self.lane,
            rho=gauge.rho,
        )
        gauge = replace(gauge, sums=detector.step_sums(gauge.sums, ratios))
        said = detector.judge_sums(gauge.sums, self.seen.log_threshold)
        if said is Verdict.ALARM:
            return self._opened(gauge, reference)
        if said is Verdict.WARN:
            return self._warned(gauge, reference)
        if gauge.confirmations is not None:
            return replace(gauge, confirmations=None), [
                self._change(ChangeKind.CALMED, gauge, reference)
            ]
        return gauge, []

    def _warned(
        self, gauge: MetricState, reference: float
    ) -> tuple[MetricState, list[WatchChange]]:
        if gauge.confirmations is None:
            return (
                replace(gauge, confirmations=CONFIRMATIONS),
                [self._change(ChangeKind.WARNED, gauge, reference)],
            )
        return replace(gauge, confirmations=max(gauge.confirmations - 1, 0)), []

    def _opened(
        self, gauge: MetricState, reference: float, *, refused: bool = False
    ) -> tuple[MetricState, list[WatchChange]]:
        looked_at = gauge.recent[-1:] if refused else gauge.recent
        level = self._level(looked_at, reference)
        again = gauge.left_at is not None and self.seen.at - gauge.left_at <= RELAPSE_WITHIN
        relapses = gauge.relapses + 1 if again else 0
        alarm = Alarm(
            self.seen.number, self.seen.at, level, reference, refused=refused, relapses=relapses
        )
        change = self._change(ChangeKind.OPENED, gauge, reference, level, refused=refused)
        opened = replace(gauge, alarm=alarm, relapses=relapses, sums=QUIET, confirmations=None)
        return opened, [change]

    def _in_alarm(self, gauge: MetricState, alarm: Alarm) -> tuple[MetricState, list[WatchChange]]:
        spoken = detector.recovery_ratio(
            self.successes, self.count.trials, alarm.reference, lane=self.lane, rho=gauge.rho
        )
        alarm = replace(alarm, proof=min(max(0.0, alarm.proof + spoken), PROVEN))
        if alarm.proof >= PROVEN and self.seen.at - alarm.at >= alarm.dwell:
            return self._stepped_down(gauge, alarm)
        level = self._level(gauge.recent, alarm.reference)
        if level <= alarm.severity:
            return replace(gauge, alarm=alarm), []
        # What was released or asked for concerned the milder alarm.
        worse = replace(alarm, severity=level, released=False, asked=False)
        change = self._change(ChangeKind.ESCALATED, gauge, alarm.reference, level)
        return replace(gauge, alarm=worse), [change]

    def _stepped_down(
        self, gauge: MetricState, alarm: Alarm
    ) -> tuple[MetricState, list[WatchChange]]:
        lower = _next_lower(self.metric, alarm.severity)
        if alarm.severity is Severity.S3 and lower is not None and not alarm.released:
            if alarm.asked:
                return replace(gauge, alarm=alarm), []
            change = self._change(ChangeKind.RELEASE_WANTED, gauge, alarm.reference, alarm.severity)
            return replace(gauge, alarm=replace(alarm, asked=True)), [change]
        if lower is not None:
            change = self._change(ChangeKind.EASED, gauge, alarm.reference, lower)
            return replace(gauge, alarm=replace(alarm, severity=lower)), [change]
        change = self._change(ChangeKind.RECOVERED, gauge, alarm.reference, alarm.severity)
        left = replace(gauge, alarm=None, left_at=self.seen.at, sums=QUIET, recent=())
        return left, [change]

    def _absorbed(self, gauge: MetricState) -> tuple[MetricState, list[WatchChange]]:
        """Learn from a run: what is normal while that is not settled, then how runs scatter."""
        if gauge.reference is not None:
            return self._correlated(gauge)
        if gauge.confirmations is not None:
            # Suspicious: learning from it would make a degradation normal before it is found.
            return gauge, []
        if gauge.absorbed_at and self.seen.at - gauge.absorbed_at < APART:
            return gauge, []
        baseline = gauge.baseline.plus(self.successes, self.count.trials)
        gauge = replace(gauge, baseline=baseline, absorbed_at=self.seen.at)
        if baseline.known(self.lane) is not Known.FROZEN:
            return gauge, []
        reference = baseline.reference(self.lane, rho=gauge.rho)
        frozen = replace(gauge, reference=reference)
        return frozen, [self._change(ChangeKind.FROZEN, frozen, reference)]

    def _correlated(self, gauge: MetricState) -> tuple[MetricState, list[WatchChange]]:
        spread = gauge.spread.plus(self.successes, self.count.trials, self.seen.at)
        gauge = replace(gauge, spread=spread)
        if not spread.is_due(self.seen.at):
            return gauge, []
        before = self.lane.rho if gauge.rho is None else gauge.rho
        rho = raise_correlation(before, spread)
        gauge = replace(gauge, spread=Spread())
        if rho == before:
            return gauge, []
        reference = gauge.baseline.reference(self.lane, rho=rho)
        gauge = replace(gauge, rho=rho, reference=reference)
        return gauge, [self._change(ChangeKind.CORRELATED, gauge, reference)]

    def _change(
        self,
        kind: ChangeKind,
        gauge: MetricState,
        reference: float,
        level: Severity | None = None,
        *,
        refused: bool = False,
    ) -> WatchChange:
        log_m = detector.log_mean(gauge.sums)
        figures = {
            "trials": self.count.trials,
            "failures": self.count.failures,
            "log_m": None if log_m == -inf else log_m,
            "log_a": self.seen.log_threshold,
            "reference": reference,
            "estimate": estimate_rate(gauge.recent) if gauge.recent else None,
            "baseline": [gauge.baseline.successes, gauge.baseline.trials, gauge.baseline.runs],
            "known": gauge.known(self.lane).value,
            "rho": self.lane.rho if gauge.rho is None else gauge.rho,
            "refused": refused,
        }
        return WatchChange(kind, self.metric, level, figures)


def _next_lower(metric: Metric, level: Severity) -> Severity | None:
    """The next milder severity that switches fewer modes on; None where there is none."""
    for value in range(level - 1, 0, -1):
        if fallback_modes(metric, Severity(value)) != fallback_modes(metric, level):
            return Severity(value)
    return None
