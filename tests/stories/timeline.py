"""Runs, events, incidents and modes of one endpoint, in days of the story."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

from tests.stories.story_runner import StoryRunner


@dataclass(frozen=True, slots=True)
class StoryRun:
    """A run; of `trials` watched turns that should have a call, `parsed` had one."""

    id: int
    day: float
    trigger: str
    suite: str
    state: str
    parsed: int | None
    trials: int | None
    # Attempts with a response, of all.
    answered: int
    planned: int

    @property
    def is_below(self) -> bool:
        """Whether a rule without statistics would raise an alarm."""
        return bool(self.trials) and (self.parsed or 0) < 0.9 * (self.trials or 0)


@dataclass(frozen=True, slots=True)
class Event:
    """An event of the watch, or a decision of a person, after that run."""

    run: int
    day: float
    kind: str
    metric: str
    severity: int | None


@dataclass(frozen=True, slots=True)
class Incident:
    opened: float
    ended: float | None
    metric: str
    severity: int
    worst: int
    refused: bool
    run: int

    @property
    def lasted(self) -> float:
        assert self.ended is not None
        return self.ended - self.opened


@dataclass(frozen=True, slots=True)
class Switch:
    mode: str
    on: float
    off: float | None


@dataclass(frozen=True, slots=True)
class Timeline:
    """Everything about one endpoint, oldest first."""

    runs: list[StoryRun]
    events: list[Event]
    incidents: list[Incident]
    switches: list[Switch]
    notice_kinds: list[str]

    def events_of(self, *kinds: str) -> list[Event]:
        return [event for event in self.events if event.kind in kinds]

    def runs_between(self, first: int, last: int) -> list[StoryRun]:
        """The runs after one and up to another."""
        return [run for run in self.runs if first < run.id <= last]


def read_timeline(runner: StoryRunner, slug: str) -> Timeline:
    """Read the timeline of an endpoint from the rows."""

    def rows(statement: LiteralString) -> list[list[Any]]:
        return [[_day(runner, value) for value in row] for row in runner.sql(statement, slug)]

    return Timeline(
        runs=[StoryRun(*row) for row in rows(_RUNS)],
        events=[Event(*row) for row in rows(_EVENTS)],
        incidents=[Incident(*row) for row in rows(_INCIDENTS)],
        switches=[Switch(*row) for row in rows(_SWITCHES)],
        notice_kinds=[kind for (kind,) in rows(_NOTICES)],
    )


def _day(runner: StoryRunner, value: Any) -> Any:
    return runner.clock.day(value) if isinstance(value, datetime) else value


_RUNS: LiteralString = """
SELECT r.id, r.finished_at, r.trigger, r.suite, r.state,
    m.watched_trials - m.watched_failures, m.watched_trials, r.passed + r.failed, r.planned
FROM dashboard_run r JOIN dashboard_endpoint e ON e.id = r.endpoint_id
LEFT JOIN dashboard_runmetric m ON m.run_id = r.id AND m.metric = 'parse_success'
WHERE e.slug = %s ORDER BY r.id
"""

_EVENTS: LiteralString = """
SELECT w.after, w.at, w.kind, w.metric, w.severity FROM dashboard_watchevent w
JOIN dashboard_profile p ON p.id = w.profile_id JOIN dashboard_endpoint e ON e.id = p.endpoint_id
WHERE e.slug = %s ORDER BY w.id
"""

_INCIDENTS: LiteralString = """
SELECT i.opened_at, i.ended_at, i.metric, i.severity, i.worst, i.refused, i.opened_by
FROM dashboard_incident i
JOIN dashboard_profile p ON p.id = i.profile_id JOIN dashboard_endpoint e ON e.id = p.endpoint_id
WHERE e.slug = %s ORDER BY i.id
"""

_SWITCHES: LiteralString = """
SELECT s.mode, s.on_at, s.off_at FROM dashboard_modeswitch s
JOIN dashboard_profile p ON p.id = s.profile_id JOIN dashboard_endpoint e ON e.id = p.endpoint_id
WHERE e.slug = %s ORDER BY s.id
"""

_NOTICES: LiteralString = """
SELECT n.kind FROM dashboard_notice n JOIN dashboard_endpoint e ON e.id = n.endpoint_id
WHERE e.slug = %s ORDER BY n.id
"""
