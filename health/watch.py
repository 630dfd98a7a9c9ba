"""The watch of a profile: its state after a run, as a pure function of the state before.

The state is a cache: replaying all runs of a profile, with the manual changes in between, gives
the same state. docs/detection.md explains the rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from health.detector import PROBE, Baseline, BaselineState, Lane
from health.metric_state import Alarm, MetricState, metric_state_from_json
from health.modes import WATCHED
from health.severity import GATES, Severity, is_surely_below_gate
from health.watch_step import (
    MIN_BASELINE_GAP,
    YEAR,
    ChangeKind,
    MetricCount,
    MetricStep,
    WatchChange,
    WatchedRun,
    watch_threshold,
)
from probes.outcomes import Metric


@dataclass(frozen=True, slots=True)
class Watch:
    """All metrics of a profile in one lane."""

    suite_version: str = ""
    last: int = 0
    runs: int = 0
    gauges: Mapping[Metric, MetricState] = field(default_factory=dict)

    def gauge(self, metric: Metric) -> MetricState:
        return self.gauges.get(metric) or MetricState()

    @property
    def alarms(self) -> dict[Metric, Alarm]:
        return {metric: g.alarm for metric, g in self.gauges.items() if g.alarm}

    @property
    def wants_confirmation(self) -> bool:
        """Whether a metric warns and has confirmation runs left."""
        return any(g.confirmations and not g.alarm for g in self.gauges.values())

    def below_gate(self, lane: Lane = PROBE) -> list[Metric]:
        """Metrics that never met the absolute gate: a capability that is off, not a degradation."""
        return [metric for metric in GATES if _is_below_gate(metric, self.gauge(metric), lane)]

    def with_gauge(self, metric: Metric, gauge: MetricState) -> Watch:
        return replace(self, gauges={**self.gauges, metric: gauge})

    def as_json(self) -> dict[str, Any]:
        gauges = {metric.value: gauge.as_json() for metric, gauge in self.gauges.items()}
        return {
            "suite_version": self.suite_version,
            "last": self.last,
            "runs": self.runs,
            "gauges": gauges,
        }


def watch_from_json(value: Mapping[str, Any]) -> Watch:
    """Read a stored watch."""
    if not value:
        return Watch()
    gauges = {
        Metric(name): metric_state_from_json(state) for name, state in value["gauges"].items()
    }
    return Watch(value["suite_version"], value["last"], value["runs"], gauges)


def follow_run(
    watch: Watch, run: WatchedRun, lane: Lane = PROBE
) -> tuple[Watch, list[WatchChange]]:
    """The watch after a run. A run that was seen before, or comes too late, changes nothing."""
    if run.number <= watch.last:
        return watch, []
    changes: list[WatchChange] = []
    if watch.runs and watch.suite_version != run.suite_version:
        changes += [_superseded_change(metric, alarm) for metric, alarm in watch.alarms.items()]
        watch = Watch()
    gauges = dict(watch.gauges)
    for metric in WATCHED:
        count = run.counts.get(metric)
        if count is None or not count.trials:
            continue
        step = MetricStep(metric, count, run, lane, is_first=not watch.runs)
        gauges[metric], metric_changes = step.follow(gauges.get(metric) or MetricState())
        changes += metric_changes
    gauges, escalations = _escalate_pairs(gauges)
    after = Watch(run.suite_version, run.number, watch.runs + 1, gauges)
    return after, [*changes, *escalations]


def accept_baseline(watch: Watch, metric: Metric, baseline: Baseline, lane: Lane = PROBE) -> Watch:
    """Reset the baseline of a metric, which ends its alarm."""
    rho = watch.gauge(metric).rho
    # If most of its trials fail, refusals are the new normal and must not open the next alarm.
    refused = baseline.trials > 0 and 2 * baseline.successes <= baseline.trials
    gauge = MetricState(baseline=baseline, rho=rho, refused_from_start=refused)
    if baseline.known(lane) is BaselineState.FROZEN:
        gauge = replace(gauge, reference=baseline.reference(lane, rho=rho))
    return watch.with_gauge(metric, gauge)


def release_alarm(watch: Watch, metric: Metric) -> Watch:
    """Allow an alarm of the highest severity to end once runs prove recovery."""
    gauge = watch.gauge(metric)
    if gauge.alarm is None:
        return watch
    return watch.with_gauge(metric, replace(gauge, alarm=replace(gauge.alarm, released=True)))


def _escalate_pairs(
    gauges: dict[Metric, MetricState],
) -> tuple[dict[Metric, MetricState], list[WatchChange]]:
    """Raise S2 alarms to S3 where two metrics are in alarm at once."""
    # Blocked calls are calls that could not be parsed or failed their schema: one fault, not two.
    bad = {
        metric: gauge.alarm
        for metric, gauge in gauges.items()
        if gauge.alarm and gauge.alarm.severity >= Severity.S2
    }
    if len(bad.keys() - {Metric.UNSAFE_BLOCKED}) < 2:
        return gauges, []
    changes = []
    for metric, alarm in bad.items():
        # Only when the alarm begins: an alarm that has eased since is not raised again.
        if alarm.severity is Severity.S2 and not alarm.released and not alarm.proof:
            worse = replace(alarm, severity=Severity.S3)
            gauges = {**gauges, metric: replace(gauges[metric], alarm=worse)}
            figures = {"together_with": sorted(m.value for m in bad if m is not metric)}
            changes.append(WatchChange(ChangeKind.ESCALATED, metric, Severity.S3, figures))
    return gauges, changes


def _superseded_change(metric: Metric, alarm: Alarm) -> WatchChange:
    return WatchChange(ChangeKind.SUPERSEDED, metric, alarm.severity)


def _is_below_gate(metric: Metric, gauge: MetricState, lane: Lane) -> bool:
    if gauge.reference is not None:
        return gauge.reference < GATES[metric]
    return is_surely_below_gate(metric, gauge.baseline.successes, gauge.baseline.trials)


__all__ = [
    "MIN_BASELINE_GAP",
    "YEAR",
    "ChangeKind",
    "MetricCount",
    "Watch",
    "WatchChange",
    "WatchedRun",
    "accept_baseline",
    "follow_run",
    "release_alarm",
    "watch_from_json",
    "watch_threshold",
]
