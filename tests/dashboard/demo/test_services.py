"""Registering the demo fleet, with its history and without."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from dashboard.demo.demo_history import register_with_history
from dashboard.demo.player import SimulatedRun
from dashboard.demo.services import fleet
from dashboard.models import Endpoint
from tests.dashboard.demo.story_player import FLEET

URL = "http://127.0.0.1:8900"


class Storing:
    """Stands for what stores a run; keeps it."""

    def __init__(self, fails_at: int = -1) -> None:
        self.runs: dict[Endpoint, list[SimulatedRun]] = defaultdict(list)
        self._left = fails_at

    def __call__(self, endpoint: Endpoint, run: SimulatedRun) -> None:
        self._left -= 1
        if self._left == 0:
            raise RuntimeError("the disk is full")
        self.runs[endpoint].append(run)


@pytest.mark.django_db
def test_every_endpoint_gets_its_own_runs_in_the_order_of_time() -> None:
    """What is stored was played on the registered endpoint, and lies in the past."""
    began = datetime.now(UTC) - timedelta(minutes=100)
    storing, told = Storing(), list[float]()

    slugs = register_with_history(URL, began=began, store=storing, tell=told.append)

    assert slugs == list(FLEET)
    assert sorted(endpoint.slug for endpoint in storing.runs) == sorted(slugs)
    for endpoint, runs in storing.runs.items():
        assert {run.slug for run in runs} == {endpoint.slug}
        assert len(runs) > 1
        assert all(a.at < b.at for a, b in pairwise(runs))
        assert began <= runs[0].at
        assert runs[-1].at < datetime.now(UTC)
    assert told == sorted(told)
    assert told[-1] == 1


@pytest.mark.django_db
def test_a_fleet_with_a_history_wants_no_burst_of_runs() -> None:
    """Its baseline has been played; what is live goes on with the schedule."""
    register_with_history(URL, began=datetime.now(UTC), store=Storing())

    assert set(Endpoint.objects.values_list("onboarding_left", flat=True)) == {0}


@pytest.mark.django_db
def test_a_history_that_breaks_off_leaves_nothing_behind() -> None:
    """The next start finds no endpoint and begins again."""
    began = datetime.now(UTC) - timedelta(minutes=100)

    with pytest.raises(RuntimeError, match="disk is full"):
        register_with_history(URL, began=began, store=Storing(fails_at=3))

    assert not Endpoint.objects.exists()


@pytest.mark.django_db
def test_without_a_history_runs_are_wanted_at_once() -> None:
    """The burst of every new endpoint: there is soon something to see either way."""
    assert list(fleet.register_fleet(URL)) == list(FLEET)
    assert set(Endpoint.objects.values_list("onboarding_left", flat=True)) == {20}
