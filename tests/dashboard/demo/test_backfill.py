"""The history of a fleet, played by several processes."""

from __future__ import annotations

import multiprocessing
from collections import defaultdict
from datetime import timedelta

import pytest

from dashboard.demo.backfill import MAX_HISTORY, PlaybackFailed, play_history
from dashboard.demo.demo_fleet import FleetMember
from tests.dashboard.demo.story_player import BEGAN, DAY, FLEET, play_days
from tests.dashboard.demo.test_player import run_as_text

FEW = [FLEET["demo-steady"], FLEET["demo-prose"], FLEET["demo-gemini"]]


def test_the_number_of_processes_does_not_change_the_runs() -> None:
    """Every endpoint has the same runs in the same order."""
    runs = defaultdict(list)
    for run in play_history(FEW, began=BEGAN, until=BEGAN + 0.07 * DAY, processes=2):
        runs[run.slug].append(run_as_text(run))

    expected = {m.slug: [run_as_text(run) for run in play_days(m, days=(0, 0.07))] for m in FEW}
    assert runs == expected


def test_the_played_history_is_limited() -> None:
    """A story that began before the longest history is played from its middle."""
    until = BEGAN + MAX_HISTORY + 10 * DAY
    member = FleetMember("x", "openai", "http://vendors.test/open/v1", "sim-steady", every=4 * DAY)

    runs = list(play_history([member], began=BEGAN, until=until))
    assert until - MAX_HISTORY <= runs[0].at < until - MAX_HISTORY + timedelta(hours=2)
    assert until - 5 * DAY < runs[-1].at < until


def test_closing_the_history_ends_its_processes() -> None:
    """No process remains after the generator is closed."""
    runs = play_history(FEW, began=BEGAN, until=BEGAN + 30 * DAY, processes=2)
    assert next(runs).trigger == "baseline"

    runs.close()

    assert multiprocessing.active_children() == []


def test_a_failed_process_raises() -> None:
    """An incomplete history is an error."""
    broken = FleetMember("x", "no-such-provider", "http://vendors.test/open/v1", "sim-steady")

    with pytest.raises(PlaybackFailed, match="exit code 1"):
        list(play_history([broken, FEW[0]], began=BEGAN, until=BEGAN + DAY, processes=2))
