"""Stories of the demo fleet, played for a part of their month."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta

from dashboard.demo.demo_fleet import FleetMember, build_fleet
from dashboard.demo.player import PlaybackSpan, SimulatedRun, play_endpoint
from probes.outcomes import Metric

BEGAN = datetime(2026, 3, 1, tzinfo=UTC)
DAY = timedelta(days=1)
FLEET = {member.slug: member for member in build_fleet("http://127.0.0.1:8900")}


def played(
    member: str | FleetMember, *, days: tuple[float, float], seed: int = 0
) -> list[SimulatedRun]:
    """The runs of an endpoint between two days of its story, which are counted from nought."""
    runs: list[SimulatedRun] = []
    first, until = (BEGAN + DAY * day for day in days)
    chosen = FLEET[member] if isinstance(member, str) else member
    play_endpoint(chosen, PlaybackSpan(BEGAN, first, until, seed), runs.append)
    return runs


def first_run(member: str | FleetMember, *, day: float = 0) -> SimulatedRun:
    """The first run after that day of the story; nothing is played beyond it."""
    runs: list[SimulatedRun] = []

    def take(run: SimulatedRun) -> None:
        runs.append(run)
        raise _Enough

    chosen = FLEET[member] if isinstance(member, str) else member
    first = BEGAN + DAY * day
    with suppress(_Enough):
        play_endpoint(chosen, PlaybackSpan(BEGAN, first, first + DAY), take)
    return runs[0]


class _Enough(Exception):
    pass


def day_of(run: SimulatedRun) -> float:
    return (run.at - BEGAN) / DAY


def bad(run: SimulatedRun, metric: Metric) -> int:
    """How many trials of the metric went badly in the run."""
    return rate(run, metric)[0]


def rate(run: SimulatedRun, metric: Metric) -> tuple[int, int]:
    """How many trials of the metric went badly, of how many."""
    trials = [v.good for a in run.attempts for v in a.verdicts if v.metric is metric]
    return trials.count(False), len(trials)
