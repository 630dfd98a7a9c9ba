"""Plays parts of the stories of the demo fleet."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta

from dashboard.demo.demo_fleet import FleetMember, build_fleet
from dashboard.demo.player import PlaybackSpan, SimulatedRun, play_endpoint
from probes.outcomes import Metric

BEGAN = datetime(2026, 3, 1, tzinfo=UTC)
DAY = timedelta(days=1)
FLEET = {member.slug: member for member in build_fleet("http://127.0.0.1:8900")}


def play_days(
    member: str | FleetMember, *, days: tuple[float, float], seed: int = 0
) -> list[SimulatedRun]:
    """The runs of an endpoint between two days of its story, counted from 0."""
    runs: list[SimulatedRun] = []
    first, until = (BEGAN + DAY * day for day in days)
    endpoint = FLEET[member] if isinstance(member, str) else member
    play_endpoint(endpoint, PlaybackSpan(BEGAN, first, until, seed), runs.append)
    return runs


def first_run(member: str | FleetMember, *, day: float = 0) -> SimulatedRun:
    """The first run after a day of the story; later runs are not played."""
    runs: list[SimulatedRun] = []

    def take_first(run: SimulatedRun) -> None:
        runs.append(run)
        raise _FirstRunPlayed

    endpoint = FLEET[member] if isinstance(member, str) else member
    first = BEGAN + DAY * day
    with suppress(_FirstRunPlayed):
        play_endpoint(endpoint, PlaybackSpan(BEGAN, first, first + DAY), take_first)
    return runs[0]


class _FirstRunPlayed(Exception):
    pass


def story_day(run: SimulatedRun) -> float:
    return (run.at - BEGAN) / DAY


def count_failures(run: SimulatedRun, metric: Metric) -> int:
    return count_trials(run, metric)[0]


def count_trials(run: SimulatedRun, metric: Metric) -> tuple[int, int]:
    """The failures and trials of a metric in a run."""
    trials = [v.good for a in run.attempts for v in a.verdicts if v.metric is metric]
    return trials.count(False), len(trials)
