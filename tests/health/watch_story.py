"""Stories of one watch: runs one after the other, and the changes of each."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from health.metric_state import MetricState
from health.watch import MetricCount, Watch, WatchChange, WatchedRun, follow_run
from probes.outcomes import Metric

AT = datetime(2026, 3, 1, tzinfo=UTC)
EVERY = timedelta(hours=6)
DAY = timedelta(days=1)
PARSE = Metric.PARSE_SUCCESS
CLOSURE = Metric.CLOSURE_ERROR
GOOD, HALF, DEAD = MetricCount(10, 0), MetricCount(10, 5), MetricCount(10, 10)
REFUSED = MetricCount(4, 4, refused=4)

Counts = Mapping[Metric, MetricCount]


def watched_run(
    number: int,
    counts: Counts,
    *,
    at: datetime | None = None,
    version: str = "tool-probe-v1",
    every: timedelta = EVERY,
) -> WatchedRun:
    """A run; by default each number is six hours after the one before."""
    return WatchedRun(number, at or AT + number * EVERY, version, every, counts)


class Story:
    """A watch and its clock. By default a run counts parse success and comes six hours later."""

    def __init__(
        self, watch: Watch | None = None, *, metric: Metric = PARSE, every: timedelta = EVERY
    ) -> None:
        self.watch, self.metric, self.every = watch or Watch(), metric, every
        self.number, self.now = self.watch.last, AT + self.watch.last * EVERY

    def run(
        self,
        count: MetricCount | Counts,
        *,
        after: timedelta = EVERY,
        version: str = "tool-probe-v1",
    ) -> list[WatchChange]:
        counts = {self.metric: count} if isinstance(count, MetricCount) else count
        self.number, self.now = self.number + 1, self.now + after
        run = watched_run(self.number, counts, at=self.now, version=version, every=self.every)
        self.watch, changes = follow_run(self.watch, run)
        return changes

    def runs(
        self, times: int, count: MetricCount | Counts, *, after: timedelta = EVERY
    ) -> list[list[str]]:
        """Repeat a run this many times; the kinds of change after each."""
        return [kinds(self.run(count, after=after)) for _ in range(times)]

    @property
    def gauge(self) -> MetricState:
        return self.watch.gauge(self.metric)

    @property
    def severity(self) -> int | None:
        alarm = self.gauge.alarm
        return alarm.severity.value if alarm else None


def settled_story(count: MetricCount | Counts = GOOD, *, metric: Metric = PARSE) -> Story:
    """A story with a baseline frozen on twenty equal runs."""
    story = Story(metric=metric)
    story.runs(20, count)
    return story


def kinds(changes: list[WatchChange]) -> list[str]:
    return [change.kind.value for change in changes]
