"""When a simulated endpoint is probed next: the product's own rules, without its database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from health.cadence import FinishedRun, NextTrigger, WaitTimes, plan_next_run
from health.capabilities import derive_capabilities, text_format
from health.watch import MetricCount, Watch, WatchChange, WatchedRun, follow_run
from health.watch_counts import count_refusals, watched_rates
from probes.adapters import adapter_for
from probes.fingerprint import EngineFacts
from probes.outcomes import Attempt, Metric, Outcome
from probes.suite import SUITE_VERSION
from probes.target import Provider

KEY_CHANGE = "key_change"
# Those that ask the full suite; so does the first run of every profile.
FULL_SUITE = (KEY_CHANGE, NextTrigger.CONFIRM.value, NextTrigger.FINGERPRINT.value)
# As the settings have them.
BASELINE_RUNS = 20
WAITS = WaitTimes(baseline=timedelta(minutes=7), confirm=timedelta(minutes=6))
# A run without a verdict is soon tried again, ever less soon.
FRUITLESS_WAIT = timedelta(minutes=15)
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
        self._why = NextTrigger.BASELINE.value
        self._fruitless = 0
        self._number = 0
        self.watch = Watch()
        # What the last run changed.
        self.changes: list[WatchChange] = []
        self._left, self._is_known = BASELINE_RUNS, False
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
            self.watch, self._left, self._is_known = Watch(), BASELINE_RUNS, False
            self._facts, self._text_format = {}, None
            return KEY_CHANGE
        return self._why

    def suite(self, trigger: str) -> str:
        return "full" if trigger in FULL_SUITE or not self._is_known else "light"

    def follow(self, attempts: Sequence[Attempt], suite: str, *, ended: datetime) -> timedelta:
        """Take note of a run; returns how long after it the next one is wanted."""
        self.changes = []
        fingerprint_changed = self._note_facts(attempts)
        if all(attempt.outcome is Outcome.VOID for attempt in attempts):
            self._fruitless += 1
            return min(self._every, FRUITLESS_WAIT * (1 << self._fruitless - 1))
        self._fruitless, self._is_known = 0, True
        self._number += 1
        seen = WatchedRun(self._number, ended, SUITE_VERSION, self._every, self._counts(attempts))
        self.watch, self.changes = follow_run(self.watch, seen)
        return self._wait(suite, fingerprint_changed=fingerprint_changed)

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

    def _wait(self, suite: str, *, fingerprint_changed: bool) -> timedelta:
        finished = FinishedRun(
            suite=suite,
            ttl=self._every,
            fingerprint_changed=fingerprint_changed,
            onboarding_left=self._left,
            wants_confirmation=self.watch.wants_confirmation,
            is_degraded=bool(self.watch.alarms),
        )
        follows = plan_next_run(finished, WAITS)
        self._why, self._left = follows.why.value, follows.onboarding_left
        if follows.why is NextTrigger.RECOVERY:
            return min(self._every, max(follows.wait, MIN_RECOVERY_WAIT))
        return follows.wait
