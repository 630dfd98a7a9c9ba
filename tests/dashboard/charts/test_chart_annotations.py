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
    """An open incident has no end; the titles say what fell and what switched the mode."""
    incident = degrade(endpoint)

    annotations = _read(endpoint)

    assert [(each.start, each.end) for each in annotations.incidents] == [
        (incident.opened_at, None)
    ]
    assert annotations.incidents[0].title.startswith("Parse success fell from 100% to")
    assert "no_tools, automatic" in [each.title for each in annotations.modes]


def test_episodes_that_ended_before_the_span_are_excluded(endpoint: Endpoint) -> None:
    """A chart has no incidents or modes from before its span."""
    incident = degrade(endpoint)
    over = {"state": "recovered", "ended_at": timezone.now() - 40 * DAY}
    Incident.objects.filter(pk=incident.pk).update(**over)
    ModeSwitch.objects.update(off_at=timezone.now() - 40 * DAY)

    annotations = _read(endpoint)

    assert (list(annotations.incidents), list(annotations.modes)) == ([], [])


def test_an_expired_mode_ends_at_its_expiry(endpoint: Endpoint) -> None:
    """Even before the cleanup has switched it off."""
    switch = modes.switch_on(endpoint.profile, Mode.NO_PARALLEL, by=None, reason="r", lasts=DAY)
    ModeSwitch.objects.filter(pk=switch.pk).update(expires_at=Now() - timedelta(hours=1))
    switch.refresh_from_db()

    assert _read(endpoint).modes[0].end == switch.expires_at


def test_the_reference_starts_when_the_baseline_is_established(endpoint: Endpoint) -> None:
    """The line starts where the baseline was full, at the rate that runs are compared with."""
    end = freeze_baseline(endpoint)

    (reference,) = _read(endpoint).references

    assert reference.rate == pytest.approx(Baseline(200, 200, 20).reference())
    assert reference.start < end
    assert not reference.provisional
    assert "baseline 200 of 200 in 20 runs" in reference.text


def test_a_reference_is_displayed_like_its_metric(endpoint: Endpoint) -> None:
    """For a metric where low is good the line is at the failure rate; each metric has its own."""
    freeze_baseline(endpoint)
    WatchEvent.objects.update(metric=Metric.SCHEMA_FAILURE.value)

    (reference,) = _read(endpoint, Metric.SCHEMA_FAILURE).references

    assert reference.rate == pytest.approx(1 - Baseline(200, 200, 20).reference())
    assert "baseline 0 of 200 in 20 runs" in reference.text
    assert list(_read(endpoint, Metric.LEAK).references) == []


def test_a_baseline_reset_starts_another_reference(endpoint: Endpoint) -> None:
    """The old line ends at the reset, and a lower one starts there."""
    degrade(endpoint, failures=5, runs=8)
    detection.accept_baseline(
        endpoint.profile, Metric.PARSE_SUCCESS, by=None, note="a smaller model"
    )

    first, second = _read(endpoint).references

    assert first.end == second.start
    assert second.rate < first.rate
    assert (first.provisional, second.provisional) == (False, True)


def test_a_reference_is_provisional_until_the_baseline_is_established(endpoint: Endpoint) -> None:
    """It is drawn and labelled as provisional."""
    for hours in range(5, 0, -1):
        watch_run(endpoint, 0, at=timezone.now() - timedelta(hours=hours))

    (reference,) = _read(endpoint).references

    assert reference.provisional
    assert reference.text.startswith("provisional reference")


def test_without_any_baseline_there_is_no_reference(endpoint: Endpoint) -> None:
    """No line is drawn without a baseline."""
    watch_run(endpoint, 0, at=timezone.now())

    assert list(_read(endpoint).references) == []


def test_a_finished_run_updates_incidents_and_metrics(client: Client, endpoint: Endpoint) -> None:
    """The page of an endpoint shows a new incident without a reload."""
    client.force_login(make_person("alice", Role.OPERATOR))
    degrade(endpoint)

    part = client.get("/endpoints/steady/runs/")

    assert_contains(part, 'id="open-incidents" hx-swap-oob="true"')
    assert_contains(part, 'aria-labelledby="watched-title" hx-swap-oob="true"')


def _read(endpoint: Endpoint, metric: Metric = Metric.PARSE_SUCCESS) -> ChartAnnotations:
    now = timezone.now()
    return chart_annotations.read_annotations(endpoint, metric, now - 30 * DAY, now)
