"""The history of a whole fleet, played by several processes."""

from __future__ import annotations

import multiprocessing
from collections import defaultdict
from datetime import timedelta

import pytest

from dashboard.demo.backfill import MAX_HISTORY, PlaybackFailed, play_history
from dashboard.demo.demo_fleet import FleetMember
from tests.dashboard.demo.story_player import BEGAN, DAY, FLEET, played
from tests.dashboard.demo.test_player import told

FEW = [FLEET["demo-steady"], FLEET["demo-prose"], FLEET["demo-gemini"]]


def test_processes_play_what_one_would_have_played() -> None:
    """How the fleet is shared out changes nothing of any endpoint, nor of the order of its runs."""
    runs = defaultdict(list)
    for run in play_history(FEW, began=BEGAN, until=BEGAN + 0.07 * DAY, processes=2):
        runs[run.slug].append(told(run))

    expected = {m.slug: [told(run) for run in played(m, days=(0, 0.07))] for m in FEW}
    assert runs == expected


def test_nothing_is_played_beyond_the_end_nor_of_what_is_long_past() -> None:
    """A story that began earlier than the longest history is taken up in the middle."""
    until = BEGAN + MAX_HISTORY + 10 * DAY
    member = FleetMember("x", "openai", "http://vendors.test/open/v1", "sim-steady", every=4 * DAY)

    runs = list(play_history([member], began=BEGAN, until=until))
    assert until - MAX_HISTORY <= runs[0].at < until - MAX_HISTORY + timedelta(hours=2)
    assert until - 5 * DAY < runs[-1].at < until


def test_a_history_can_be_left_early() -> None:
    """Whoever stops listening leaves no process behind that goes on playing."""
    runs = play_history(FEW, began=BEGAN, until=BEGAN + 30 * DAY, processes=2)
    assert next(runs).trigger == "baseline"

    runs.close()

    assert multiprocessing.active_children() == []


def test_a_process_that_fails_is_told_and_not_waited_for() -> None:
    """A history with a hole in it is no history."""
    broken = FleetMember("x", "no-such-provider", "http://vendors.test/open/v1", "sim-steady")

    with pytest.raises(PlaybackFailed, match="exit code 1"):
        list(play_history([broken, FEW[0]], began=BEGAN, until=BEGAN + DAY, processes=2))
