"""The schedule of a simulated endpoint: the real rules, without a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from health.cadence import (
    KEY_CHANGE,
    DueState,
    EndedRun,
    NextTrigger,
    WaitTimes,
    plan_after_run,
    suite_for,
)
from health.capabilities import derive_capabilities, text_format
from health.watch import MetricCount, Watch, WatchChange, WatchedRun, follow_run
from health.watch_counts import count_refusals, watched_rates
from probes.adapters import adapter_for
from probes.fingerprint import EngineFacts
from probes.outcomes import Attempt, Metric, Outcome
from probes.suite import SUITE_VERSION
from probes.target import Provider

# The defaults of the settings.
BASELINE_RUNS = 20
WAITS = WaitTimes(baseline=timedelta(minutes=7), confirm=timedelta(minutes=6))
# The real schedule probes four times as often while an incident is open. Weeks of that would be
# most of the history and of the time of a first start.
MIN_RECOVERY_WAIT = timedelta(hours=8)
# A fact with more values is not stored.
MAX_VALUES = 10


class SimulatedSchedule:
    """The schedule of one endpoint, which depends on the results of its runs."""

    def __init__(self, provider: Provider, every: timedelta) -> None:
        self._format = adapter_for(provider).format
        self._every = every
        self._template: str | None = None
        self._due = DueState(NextTrigger.BASELINE.value, BASELINE_RUNS)
        self._run_number = 0
        self.watch = Watch()
        # The changes of the last run.
        self.changes: list[WatchChange] = []
        self._is_known = False
        self._text_format: str | None = None
        # The engine facts before the current run, and all facts under this profile key.
        self._engine_facts: Mapping[str, str] = {}
        self._facts: dict[str, set[str]] = {}

    def next_trigger(self, engine: EngineFacts) -> str:
        """The trigger of the next run, given the engine facts before it.

        A missing template, as in an outage, is not a new one.
        """
        before, self._engine_facts = self._template, engine.facts
        self._template = engine.chat_template_hash or before
        if before and self._template != before:
            self.watch, self._is_known = Watch(), False
            self._due = DueState(KEY_CHANGE, BASELINE_RUNS)
            self._facts, self._text_format = {}, None
        return self._due.why

    def next_suite(self, trigger: str) -> str:
        return suite_for(trigger, is_known=self._is_known)

    def record_run(self, attempts: Sequence[Attempt], suite: str, *, ended: datetime) -> timedelta:
        """Record a run and return the time until the next one."""
        self.changes = []
        has_verdict = any(attempt.outcome is not Outcome.VOID for attempt in attempts)
        run = EndedRun(suite, self._every, has_verdict, self._record_facts(attempts))
        if has_verdict:
            self._watch_run(attempts, ended)
        self._due, wait = plan_after_run(run, self._due, self.watch, WAITS)
        if has_verdict and self._due.why == NextTrigger.RECOVERY:
            return min(self._every, max(wait, MIN_RECOVERY_WAIT))
        return wait

    def _watch_run(self, attempts: Sequence[Attempt], ended: datetime) -> None:
        """Update the watch with a run that has a verdict."""
        self._is_known = True
        self._run_number += 1
        watched = WatchedRun(
            self._run_number, ended, SUITE_VERSION, self._every, self._count_metrics(attempts)
        )
        self.watch, self.changes = follow_run(self.watch, watched)

    def _record_facts(self, attempts: Sequence[Attempt]) -> bool:
        """Record the facts of a run; true if one of them is new since the first run."""
        response_facts = (pair for attempt in attempts for pair in attempt.fingerprint.items())
        had_facts, changed = self._is_known and bool(self._facts), False
        for name, value in dict.fromkeys((*self._engine_facts.items(), *response_facts)):
            values = self._facts.setdefault(name, set())
            if value not in values and len(values) < MAX_VALUES:
                changed |= had_facts or bool(values)
                values.add(value)
        return changed

    def _count_metrics(self, attempts: Sequence[Attempt]) -> dict[Metric, MetricCount]:
        if self._text_format is None:
            self._text_format = text_format(derive_capabilities(attempts, self._format))
        rates = watched_rates(attempts, self._text_format or None)
        refused = count_refusals(attempts)
        return {
            metric: MetricCount(rate.trials, rate.failures, refused[metric])
            for metric, rate in rates.items()
        }
