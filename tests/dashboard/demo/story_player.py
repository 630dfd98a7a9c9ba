"""Stories of the demo fleet, played for a part of their month."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta

from dashboard.demo.demo_fleet import Member, fleet
from dashboard.demo.player import Simulated, Span, play
from probes.outcomes import Metric

BEGAN = datetime(2026, 3, 1, tzinfo=UTC)
DAY = timedelta(days=1)
FLEET = {member.slug: member for member in fleet("http://127.0.0.1:8900")}


def played(member: str | Member, *, days: tuple[float, float], seed: int = 0) -> list[Simulated]:
    """The runs of an endpoint between two days of its story, which are counted from nought."""
    runs: list[Simulated] = []
    first, until = (BEGAN + DAY * day for day in days)
    chosen = FLEET[member] if isinstance(member, str) else member
    play(chosen, Span(BEGAN, first, until, seed), runs.append)
    return runs


def first_run(member: str | Member, *, day: float = 0) -> Simulated:
    """The first run after that day of the story; nothing is played beyond it."""
    runs: list[Simulated] = []

    def take(run: Simulated) -> None:
        runs.append(run)
        raise _Enough

    chosen = FLEET[member] if isinstance(member, str) else member
    first = BEGAN + DAY * day
    with suppress(_Enough):
        play(chosen, Span(BEGAN, first, first + DAY), take)
    return runs[0]


class _Enough(Exception):
    pass


def day_of(run: Simulated) -> float:
    return (run.at - BEGAN) / DAY


def bad(run: Simulated, metric: Metric) -> int:
    """How many trials of the metric went badly in the run."""
    return rate(run, metric)[0]


def rate(run: Simulated, metric: Metric) -> tuple[int, int]:
    """How many trials of the metric went badly, of how many."""
    trials = [v.good for a in run.attempts for v in a.verdicts if v.metric is metric]
    return trials.count(False), len(trials)
