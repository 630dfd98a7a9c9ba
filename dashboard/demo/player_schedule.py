"""When a simulated endpoint is probed next: the product's own rules, without its database."""

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

# As the settings have them.
BASELINE_RUNS = 20
WAITS = WaitTimes(baseline=timedelta(minutes=7), confirm=timedelta(minutes=6))
# The product looks four times as often while an incident is open. Weeks of that would be most of
# the history, and take most of the time that a first start has.
MIN_RECOVERY_WAIT = timedelta(hours=8)
# A fact with more values than this tells nothing.
MAX_VALUES = 10


class PlayedSchedule:
    """The schedule of one endpoint, which follows what its runs find."""

    def __init__(self, provider: Provider, every: timedelta) -> None:
        self._format = adapter_for(provider).format
        self._every = every
        self._template: str | None = None
        self._due = DueState(NextTrigger.BASELINE.value, BASELINE_RUNS)
        self._number = 0
        self.watch = Watch()
        # What the last run changed.
        self.changes: list[WatchChange] = []
        self._is_known = False
        self._text_format: str | None = None
        # What the endpoint told before its run, and all that it ever told under this key.
        self._told: Mapping[str, str] = {}
        self._facts: dict[str, set[str]] = {}

    def trigger(self, engine: EngineFacts) -> str:
        """Why the next run is made, given what the endpoint tells about itself.

        A template that was not told, as in an outage, is no new one.
        """
        before, self._told = self._template, engine.facts
        self._template = engine.chat_template_hash or before
        if before and self._template != before:
            self.watch, self._is_known = Watch(), False
            self._due = DueState(KEY_CHANGE, BASELINE_RUNS)
            self._facts, self._text_format = {}, None
        return self._due.why

    def suite(self, trigger: str) -> str:
        return suite_for(trigger, is_known=self._is_known)

    def follow(self, attempts: Sequence[Attempt], suite: str, *, ended: datetime) -> timedelta:
        """Take note of a run; returns how long after it the next one is wanted."""
        self.changes = []
        has_verdict = any(attempt.outcome is not Outcome.VOID for attempt in attempts)
        run = EndedRun(suite, self._every, has_verdict, self._note_facts(attempts))
        if has_verdict:
            self._look_at(attempts, ended)
        self._due, wait = plan_after_run(run, self._due, self.watch, WAITS)
        if has_verdict and self._due.why == NextTrigger.RECOVERY:
            return min(self._every, max(wait, MIN_RECOVERY_WAIT))
        return wait

    def _look_at(self, attempts: Sequence[Attempt], ended: datetime) -> None:
        """Let the watch see a run with a verdict."""
        self._is_known = True
        self._number += 1
        seen = WatchedRun(self._number, ended, SUITE_VERSION, self._every, self._counts(attempts))
        self.watch, self.changes = follow_run(self.watch, seen)

    def _note_facts(self, attempts: Sequence[Attempt]) -> bool:
        """Whether something was told that had never been, since the first run."""
        answered = (pair for attempt in attempts for pair in attempt.fingerprint.items())
        knew_some, changed = self._is_known and bool(self._facts), False
        for name, value in dict.fromkeys((*self._told.items(), *answered)):
            values = self._facts.setdefault(name, set())
            if value not in values and len(values) < MAX_VALUES:
                changed |= knew_some or bool(values)
                values.add(value)
        return changed

    def _counts(self, attempts: Sequence[Attempt]) -> dict[Metric, MetricCount]:
        if self._text_format is None:
            self._text_format = text_format(derive_capabilities(attempts, self._format))
        rates = watched_rates(attempts, self._text_format or None)
        refused = count_refusals(attempts)
        return {
            metric: MetricCount(rate.trials, rate.failures, refused[metric])
            for metric, rate in rates.items()
        }
