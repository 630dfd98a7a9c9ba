"""What is played follows the schedule of the product, and finds what the product finds."""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from itertools import pairwise

import pytest
from django.conf import settings

from dashboard.demo.player import SimulatedRun
from dashboard.demo.player_schedule import (
    BASELINE_RUNS,
    MAX_VALUES,
    WAITS,
    PlayedSchedule,
)
from dashboard.demo.services import history
from dashboard.endpoints.services import endpoints
from dashboard.models import Endpoint, WatchEvent
from dashboard.trust import profiles
from health.cadence import WaitTimes
from probes.target import Provider
from tests.dashboard.demo.story_player import FLEET, played

# The days that are played, and what must be noticed there at least.
NOTICED = {
    "demo-fading": ((4.5, 10.5), ("frozen", "warned", "opened")),
    "demo-relay": ((9.8, 10.8), ("frozen", "opened")),
    "demo-flapping": ((0, 0.3), ("warned", "frozen")),
    "demo-llamacpp": ((6.8, 7.4), ("frozen",)),
}


def test_the_waits_are_those_of_the_product() -> None:
    """Who has set others has no demo to look at."""
    assert BASELINE_RUNS == settings.BASELINE_RUNS
    assert WaitTimes(settings.BASELINE_EVERY, settings.CONFIRM_AFTER) == WAITS
    assert MAX_VALUES == profiles.MAX_VALUES


def test_a_warning_is_confirmed_and_an_incident_looked_after() -> None:
    """Full runs six minutes apart, then light ones more often than before."""
    runs = _played("demo-fading")
    triggers = [run.trigger for run in runs]
    first = triggers.index("confirm")

    assert 1 <= triggers.count("confirm") <= 4
    assert set(triggers[20:first]) == {"ttl"}
    assert triggers[-1] == "recovery"
    gaps = [(run.trigger, run.at - before.at - before.took) for before, run in pairwise(runs)]
    confirms = [gap for trigger, gap in gaps if trigger == "confirm"]
    assert all(timedelta(minutes=5) <= gap <= timedelta(minutes=7) for gap in confirms)
    looks = [gap for trigger, gap in gaps if trigger == "recovery"]
    assert all(timedelta(hours=7.2) <= gap <= timedelta(hours=8.8) for gap in looks)
    assert {run.suite for run in runs if run.trigger == "confirm"} == {"full"}
    assert {run.suite for run in runs if run.trigger == "recovery"} == {"light"}


def test_an_endpoint_that_tells_something_new_is_asked_everything_at_once() -> None:
    """The re-routed relay answers with another fingerprint; a full run follows on its heels."""
    runs = _played("demo-relay")
    triggers = [run.trigger for run in runs]
    number = triggers.index("fingerprint")

    assert triggers.count("fingerprint") == 1
    assert runs[number].suite == "full"
    assert runs[number].at == runs[number - 1].at + runs[number - 1].took


@pytest.mark.django_db
@pytest.mark.parametrize("slug", NOTICED)
def test_the_database_notices_what_the_player_noticed(slug: str) -> None:
    """Each after the same run: the history has no incident that its schedule did not know of."""
    member = FLEET[slug]
    endpoint = _registered(slug)
    schedule, noticed = PlayedSchedule(Provider(member.provider), member.every), []
    told_news = False

    for run in _played(slug):
        stored = history.store_simulated_run(endpoint, run)
        assert schedule.trigger(run.engine) == run.trigger
        assert (run.trigger == "fingerprint") == told_news
        told_news = stored.fingerprint_changed and run.suite == "light"
        schedule.follow(run.attempts, run.suite, ended=run.at + run.took)
        noticed += [(stored.pk, c.kind, c.metric, c.severity) for c in schedule.changes]

    events = WatchEvent.objects.order_by("id")
    assert list(events.values_list("after", "kind", "metric", "severity")) == noticed
    assert {kind for _, kind, _, _ in noticed} >= set(NOTICED[slug][1])


@cache
def _played(slug: str) -> list[SimulatedRun]:
    return played(slug, days=NOTICED[slug][0])


def _registered(slug: str) -> Endpoint:
    member = FLEET[slug]
    return endpoints.create(
        slug=slug,
        provider=member.provider,
        base_url=member.base_url,
        model=member.model,
        options={},
        ttl=timedelta(minutes=10),
        max_concurrency=1,
        enabled=True,
        key=None,
        onboarding_runs=0,
    )
