"""Registering the demo fleet, with and without its history."""

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


class RunStore:
    """Keeps runs instead of store them."""

    def __init__(self, fails_at: int = -1) -> None:
        self.runs: dict[Endpoint, list[SimulatedRun]] = defaultdict(list)
        self._left = fails_at

    def __call__(self, endpoint: Endpoint, run: SimulatedRun) -> None:
        self._left -= 1
        if self._left == 0:
            raise RuntimeError("the disk is full")
        self.runs[endpoint].append(run)


@pytest.mark.django_db
def test_every_endpoint_has_its_own_runs_in_order() -> None:
    """The stored runs belong to the registered endpoint and are in the past."""
    began = datetime.now(UTC) - timedelta(minutes=100)
    store, shares = RunStore(), list[float]()

    slugs = register_with_history(URL, began=began, store=store, report_progress=shares.append)

    assert slugs == list(FLEET)
    assert sorted(endpoint.slug for endpoint in store.runs) == sorted(slugs)
    for endpoint, runs in store.runs.items():
        assert {run.slug for run in runs} == {endpoint.slug}
        assert len(runs) > 1
        assert all(a.at < b.at for a, b in pairwise(runs))
        assert began <= runs[0].at
        assert runs[-1].at < datetime.now(UTC)
    assert shares == sorted(shares)
    assert shares[-1] == 1


@pytest.mark.django_db
def test_a_fleet_with_a_history_needs_no_onboarding_runs() -> None:
    """The history contains the baseline."""
    register_with_history(URL, began=datetime.now(UTC), store=RunStore())

    assert set(Endpoint.objects.values_list("onboarding_left", flat=True)) == {0}


@pytest.mark.django_db
def test_an_interrupted_history_is_rolled_back() -> None:
    """The next start finds no endpoint and starts over."""
    began = datetime.now(UTC) - timedelta(minutes=100)

    with pytest.raises(RuntimeError, match="disk is full"):
        register_with_history(URL, began=began, store=RunStore(fails_at=3))

    assert not Endpoint.objects.exists()


@pytest.mark.django_db
def test_without_a_history_there_are_onboarding_runs() -> None:
    """New endpoints begin with the usual onboarding runs."""
    assert list(fleet.register_fleet(URL)) == list(FLEET)
    assert set(Endpoint.objects.values_list("onboarding_left", flat=True)) == {20}
