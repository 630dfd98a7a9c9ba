"""One metric of one run: the next state of the metric, and the changes to report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from math import inf, log
from typing import Any

from health import detector
from health.change_point import RunCount, mean_rate, runs_since_change
from health.correlation import Spread, raise_correlation
from health.detector import QUIET, BaselineState, Lane, Verdict
from health.metric_state import RELAPSE_WITHIN, Alarm, MetricState
from health.modes import BUDGETED, fallback_modes
from health.severity import GATES, SEVERITY_RUNS, Severity, estimate_rate, judge_severity
from probes.outcomes import Metric

CONFIRMATIONS = 4
# Minimum time between two runs of a baseline.
MIN_BASELINE_GAP = timedelta(minutes=5)
# This many refusals, if they are half of the trials, open an alarm without statistics.
MIN_REFUSALS = 2
# The reference of an endpoint without a baseline that never refused before.
DEFAULT_REFERENCE = 0.95
YEAR = timedelta(days=365)
# The most runs among which the beginning of a degradation is looked for.
RECENT_RUNS = 40
# The proof of recovery that ends an alarm, and its cap: weeks of good runs, while an alarm dwells
# or awaits release, must not outweigh new failures.
RECOVERY_PROOF = log(detector.RECOVERY_ODDS)
# An alarm that was found recovered is not any more once less than this is left of the proof, or
# once a single run is this far below the reference.
LOST_PROOF, LOST_DROP = RECOVERY_PROOF / 2, 0.20


@dataclass(frozen=True, slots=True)
class MetricCount:
    """The trials of one metric in one run; `refused` of them were refused by the endpoint."""

    trials: int
    failures: int
    refused: int = 0


@dataclass(frozen=True, slots=True)
class WatchedRun:
    """One run as the watch sees it. Numbers increase; the interval sets the alarm threshold."""

    number: int
    at: datetime
    suite_version: str
    interval: timedelta
    counts: Mapping[Metric, MetricCount]
    # The highest severity that this lane alone can raise.
    max_severity: Mapping[Metric, Severity] = field(default_factory=dict)

    @property
    def log_threshold(self) -> float:
        return watch_threshold(self.interval)


def watch_threshold(interval: timedelta) -> float:
    """The log threshold of an alarm for runs at this interval, for all metrics of a profile."""
    return detector.alarm_threshold(YEAR / interval, metrics=len(BUDGETED))


class ChangeKind(StrEnum):
    """The kinds of change that a run can cause."""

    FROZEN = "frozen"
    WARNED = "warned"
    CALMED = "calmed"
    OPENED = "opened"
    ESCALATED = "escalated"
    EASED = "eased"
    RELEASE_WANTED = "release_wanted"
    RELEASE_WITHDRAWN = "release_withdrawn"
    RECOVERED = "recovered"
    SUPERSEDED = "superseded"
    CORRELATED = "correlated"


@dataclass(frozen=True, slots=True)
class WatchChange:
    """A change that a run caused, with the figures behind it."""

    kind: ChangeKind
    metric: Metric
    severity: Severity | None = None
    figures: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MetricStep:
    """Applies one run to the state of one metric."""

    metric: Metric
    count: MetricCount
    run: WatchedRun
    lane: Lane
    is_first: bool

    @property
    def successes(self) -> int:
        return self.count.trials - self.count.failures

    def follow(self, gauge: MetricState) -> tuple[MetricState, list[WatchChange]]:
        recent = (*gauge.recent, (self.successes, self.count.trials))[-RECENT_RUNS:]
        gauge = replace(gauge, recent=recent)
        if gauge.alarm:
            return self._update_alarm(gauge, gauge.alarm)
        if self._never_worked(gauge):
            return self._learn(replace(gauge, sums=QUIET, confirmations=None))
        if self._is_refused():
            if self.is_first or gauge.refused_from_start:
                gauge = replace(gauge, refused_from_start=True)
            else:
                return self._open_alarm(
                    gauge, self._reference(gauge) or DEFAULT_REFERENCE, refused=True
                )
        gauge, changes = self._update_sums(gauge)
        if gauge.alarm:
            return gauge, changes
        gauge, learned = self._learn(gauge)
        return gauge, changes + learned

    def _severity(self, gauge: MetricState, reference: float) -> Severity:
        """The severity by the last runs; those of a gauge in alarm are all since the change."""
        limit = self.run.max_severity.get(self.metric, Severity.S3)
        rate = estimate_rate(gauge.recent[-SEVERITY_RUNS:])
        return min(judge_severity(self.metric, rate, reference), limit)

    def _never_worked(self, gauge: MetricState) -> bool:
        """Whether its rate was always near zero: the raised reference would alarm for ever."""
        reference = self._reference(gauge)
        return reference is not None and reference <= detector.LOWEST_REFERENCE

    def _reference(self, gauge: MetricState) -> float | None:
        """The rate that this run is compared with; None without a baseline and without a limit."""
        limit = self._limit(gauge)
        return gauge.current_reference(self.lane) if limit is None else limit

    def _limit(self, gauge: MetricState) -> float | None:
        """The absolute gate, where it alarms and the baseline is lower or not known yet."""
        gate = GATES.get(self.metric) if self.lane.alarms_at_gate else None
        if gate is None or (gauge.current_reference(self.lane) or 0.0) >= gate:
            return None
        return gate

    def _is_refused(self) -> bool:
        refused = self.count.refused
        return refused >= MIN_REFUSALS and refused * 2 >= self.count.trials

    def _update_sums(self, gauge: MetricState) -> tuple[MetricState, list[WatchChange]]:
        reference = self._reference(gauge)
        if reference is None:
            return gauge, []
        ratios = detector.log_ratios(
            self.successes,
            self.count.trials,
            reference,
            self.run.log_threshold,
            lane=self.lane,
            rho=gauge.rho,
        )
        gauge = replace(gauge, sums=detector.step_sums(gauge.sums, ratios))
        verdict = detector.judge_sums(gauge.sums, self.run.log_threshold)
        if verdict is Verdict.ALARM:
            return self._open_alarm(gauge, reference)
        if verdict is Verdict.WARN:
            return self._warn(gauge, reference)
        if gauge.confirmations is not None:
            return replace(gauge, confirmations=None), [
                self._change(ChangeKind.CALMED, gauge, reference)
            ]
        return gauge, []

    def _warn(self, gauge: MetricState, reference: float) -> tuple[MetricState, list[WatchChange]]:
        if gauge.confirmations is None:
            return (
                replace(gauge, confirmations=CONFIRMATIONS),
                [self._change(ChangeKind.WARNED, gauge, reference)],
            )
        return replace(gauge, confirmations=max(gauge.confirmations - 1, 0)), []

    def _open_alarm(
        self, gauge: MetricState, reference: float, *, refused: bool = False
    ) -> tuple[MetricState, list[WatchChange]]:
        gauge = replace(gauge, recent=self._runs_since_change(gauge, reference, refused=refused))
        severity = self._severity(gauge, reference)
        is_relapse = (
            gauge.recovered_at is not None and self.run.at - gauge.recovered_at <= RELAPSE_WITHIN
        )
        relapses = gauge.relapses + 1 if is_relapse else 0
        alarm = Alarm(
            self.run.number, self.run.at, severity, reference, refused=refused, relapses=relapses
        )
        change = self._change(ChangeKind.OPENED, gauge, reference, severity, refused=refused)
        opened = replace(gauge, alarm=alarm, relapses=relapses, sums=QUIET, confirmations=None)
        return opened, [change]

    def _runs_since_change(
        self, gauge: MetricState, reference: float, *, refused: bool
    ) -> tuple[RunCount, ...]:
        if refused:
            return gauge.recent[-1:]
        return runs_since_change(gauge.recent, reference, self.lane, rho=gauge.rho)

    def _update_alarm(
        self, gauge: MetricState, alarm: Alarm
    ) -> tuple[MetricState, list[WatchChange]]:
        ratio = detector.recovery_ratio(
            self.successes, self.count.trials, alarm.reference, lane=self.lane, rho=gauge.rho
        )
        alarm = replace(alarm, proof=min(max(0.0, alarm.proof + ratio), RECOVERY_PROOF))
        if alarm.proof >= RECOVERY_PROOF and self.run.at - alarm.at >= alarm.dwell:
            return self._step_down(gauge, alarm)
        if alarm.asked and alarm.severity is Severity.S3 and self._is_recovery_lost(alarm):
            return self._withdraw_release(gauge, alarm)
        severity = self._severity(gauge, alarm.reference)
        if severity <= alarm.severity:
            return replace(gauge, alarm=alarm), []
        # The release, or its request, applied to the milder alarm.
        worse = replace(alarm, severity=severity, released=False, asked=False)
        change = self._change(ChangeKind.ESCALATED, gauge, alarm.reference, severity)
        return replace(gauge, alarm=worse), [change]

    def _is_recovery_lost(self, alarm: Alarm) -> bool:
        rate = self.successes / self.count.trials
        return alarm.proof < LOST_PROOF or alarm.reference - rate >= LOST_DROP

    def _withdraw_release(
        self, gauge: MetricState, alarm: Alarm
    ) -> tuple[MetricState, list[WatchChange]]:
        """Take back the request for release, and a release that followed it: both are outdated."""
        change = self._change(ChangeKind.RELEASE_WITHDRAWN, gauge, alarm.reference, alarm.severity)
        return replace(gauge, alarm=replace(alarm, asked=False, released=False)), [change]

    def _step_down(self, gauge: MetricState, alarm: Alarm) -> tuple[MetricState, list[WatchChange]]:
        lower = _next_milder(self.metric, alarm.severity)
        if alarm.severity is Severity.S3 and lower is not None and not alarm.released:
            if alarm.asked:
                return replace(gauge, alarm=alarm), []
            change = self._change(ChangeKind.RELEASE_WANTED, gauge, alarm.reference, alarm.severity)
            return replace(gauge, alarm=replace(alarm, asked=True)), [change]
        if lower is not None:
            change = self._change(ChangeKind.EASED, gauge, alarm.reference, lower)
            return replace(gauge, alarm=replace(alarm, severity=lower)), [change]
        change = self._change(ChangeKind.RECOVERED, gauge, alarm.reference, alarm.severity)
        recovered = replace(gauge, alarm=None, recovered_at=self.run.at, sums=QUIET, recent=())
        return recovered, [change]

    def _learn(self, gauge: MetricState) -> tuple[MetricState, list[WatchChange]]:
        """Learn from a run: the baseline until it is frozen, then the correlation within runs."""
        if gauge.reference is not None:
            return self._update_correlation(gauge)
        if gauge.confirmations is not None:
            # Learning from a suspicious run would make a degradation normal before it is detected.
            return gauge, []
        if gauge.absorbed_at and self.run.at - gauge.absorbed_at < MIN_BASELINE_GAP:
            return gauge, []
        baseline = gauge.baseline.plus(self.successes, self.count.trials)
        gauge = replace(gauge, baseline=baseline, absorbed_at=self.run.at)
        if baseline.known(self._lane_at_cadence) is not BaselineState.FROZEN:
            return gauge, []
        reference = baseline.reference(self.lane, rho=gauge.rho)
        frozen = replace(gauge, reference=reference)
        return frozen, [self._change(ChangeKind.FROZEN, frozen, reference)]

    @property
    def _lane_at_cadence(self) -> Lane:
        return self.lane.at_cadence(YEAR / self.run.interval)

    def _update_correlation(self, gauge: MetricState) -> tuple[MetricState, list[WatchChange]]:
        spread = gauge.spread.plus(self.successes, self.count.trials, self.run.at)
        gauge = replace(gauge, spread=spread)
        if not spread.is_due(self.run.at):
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
        severity: Severity | None = None,
        *,
        refused: bool = False,
    ) -> WatchChange:
        log_m = detector.log_mean(gauge.sums)
        # An alarm opens with all runs since the change; later changes are judged by the last ones.
        runs = gauge.recent if kind is ChangeKind.OPENED else gauge.recent[-SEVERITY_RUNS:]
        figures = {
            "trials": self.count.trials,
            "failures": self.count.failures,
            "log_m": None if log_m == -inf else log_m,
            "log_a": self.run.log_threshold,
            "reference": reference,
            "estimate": estimate_rate(gauge.recent[-SEVERITY_RUNS:]),
            "rate": mean_rate(runs),
            "latest": [sum(good for good, _ in runs), sum(n for _, n in runs), len(runs)],
            "baseline": [gauge.baseline.successes, gauge.baseline.trials, gauge.baseline.runs],
            "known": gauge.known(self.lane).value,
            "rho": self.lane.rho if gauge.rho is None else gauge.rho,
            "refused": refused,
            "limit": self._limit(gauge),
        }
        return WatchChange(kind, self.metric, severity, figures)


def _next_milder(metric: Metric, severity: Severity) -> Severity | None:
    """The next milder severity that turns on fewer modes, if any."""
    for value in range(severity - 1, 0, -1):
        if fallback_modes(metric, Severity(value)) != fallback_modes(metric, severity):
            return Severity(value)
    return None
