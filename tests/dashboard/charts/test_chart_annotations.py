from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models.functions import Now
from django.test import Client
from django.utils import timezone

from dashboard.charts import chart_annotations
from dashboard.charts.figures.lanes import ChartAnnotations
from dashboard.models import Endpoint, Incident, ModeSwitch, WatchEvent
from dashboard.models.people import Role
from dashboard.trust import detection, modes
from health.detector import Baseline
from health.modes import Mode
from probes.outcomes import Metric
from tests.dashboard.incidents.builders import degrade, freeze_baseline, watch_run
from tests.factories import make_endpoint, make_person
from tests.markup import assert_contains

DAY = timedelta(days=1)


@pytest.fixture
def endpoint(db: None) -> Endpoint:
    return make_endpoint()


def test_an_incident_and_its_modes_are_episodes(endpoint: Endpoint) -> None:
    """What is open has no end; the words say what fell and who switched."""
    incident = degrade(endpoint)

    found = _read(endpoint)

    assert [(each.start, each.end) for each in found.incidents] == [(incident.opened_at, None)]
    assert found.incidents[0].title.startswith("Parse success fell from 100% to")
    assert "no_tools, automatic" in [each.title for each in found.modes]


def test_what_ended_before_the_span_is_left_out(endpoint: Endpoint) -> None:
    """A chart of today tells nothing of last month."""
    incident = degrade(endpoint)
    over = {"state": "recovered", "ended_at": timezone.now() - 40 * DAY}
    Incident.objects.filter(pk=incident.pk).update(**over)
    ModeSwitch.objects.update(off_at=timezone.now() - 40 * DAY)

    found = _read(endpoint)

    assert (list(found.incidents), list(found.modes)) == ([], [])


def test_a_mode_that_ran_out_ends_when_it_ran_out(endpoint: Endpoint) -> None:
    """Also before anybody has swept it away."""
    switch = modes.switch_on(endpoint.profile, Mode.NO_PARALLEL, by=None, reason="r", lasts=DAY)
    ModeSwitch.objects.filter(pk=switch.pk).update(expires_at=Now() - timedelta(hours=1))
    switch.refresh_from_db()

    assert _read(endpoint).modes[0].end == switch.expires_at


def test_the_reference_holds_from_its_freezing_on(endpoint: Endpoint) -> None:
    """The line begins where the baseline was full, at the rate that runs are compared with."""
    end = freeze_baseline(endpoint)

    (held,) = _read(endpoint).references

    assert held.rate == pytest.approx(Baseline(200, 200, 20).reference())
    assert held.start < end
    assert not held.provisional
    assert "baseline 200 of 200 in 20 runs" in held.words


def test_a_reference_is_shown_the_way_its_metric_is(endpoint: Endpoint) -> None:
    """Where low is good, the line is at what may go badly; another metric has its own line."""
    freeze_baseline(endpoint)
    WatchEvent.objects.update(metric=Metric.SCHEMA_FAILURE.value)

    (held,) = _read(endpoint, Metric.SCHEMA_FAILURE).references

    assert held.rate == pytest.approx(1 - Baseline(200, 200, 20).reference())
    assert "baseline 0 of 200 in 20 runs" in held.words
    assert list(_read(endpoint, Metric.LEAK).references) == []


def test_an_accepted_normal_is_another_reference(endpoint: Endpoint) -> None:
    """The old line ends where somebody accepted, and a lower one begins there."""
    degrade(endpoint, failures=5, runs=8)
    detection.accept_baseline(
        endpoint.profile, Metric.PARSE_SUCCESS, by=None, note="a smaller model"
    )

    first, second = _read(endpoint).references

    assert first.end == second.start
    assert second.rate < first.rate
    assert (first.provisional, second.provisional) == (False, True)


def test_before_it_is_frozen_the_reference_is_provisional(endpoint: Endpoint) -> None:
    """It is drawn, and called what it is."""
    for hours in range(5, 0, -1):
        watch_run(endpoint, 0, at=timezone.now() - timedelta(hours=hours))

    (held,) = _read(endpoint).references

    assert held.provisional
    assert held.words.startswith("provisional reference")


def test_without_any_baseline_there_is_no_reference(endpoint: Endpoint) -> None:
    """Nothing is compared, so nothing is drawn."""
    watch_run(endpoint, 0, at=timezone.now())

    assert list(_read(endpoint).references) == []


def test_a_run_that_ends_brings_strip_and_metrics_along(client: Client, endpoint: Endpoint) -> None:
    """The page of an endpoint learns of an incident without a reload."""
    client.force_login(make_person("alice", Role.OPERATOR))
    degrade(endpoint)

    part = client.get("/endpoints/steady/runs/")

    assert_contains(part, 'id="open-incidents" hx-swap-oob="true"')
    assert_contains(part, 'aria-labelledby="watched-title" hx-swap-oob="true"')


def _read(endpoint: Endpoint, metric: Metric = Metric.PARSE_SUCCESS) -> ChartAnnotations:
    now = timezone.now()
    return chart_annotations.read_annotations(endpoint, metric, now - 30 * DAY, now)
