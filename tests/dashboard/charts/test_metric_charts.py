"""The chart of each metric on the page of an endpoint, and the small charts."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dashboard.charts import small_multiples
from dashboard.core.time_range import TimeWindow, parse_window
from dashboard.models import Endpoint, RollupHour, Run, RunMetric
from health.modes import WATCHED
from health.observation_bits import PLACES
from health.rates import metric_rate
from probes.outcomes import Metric
from tests.factories import make_endpoint, make_finished_run
from tests.markup import assert_contains, assert_not_contains

HOUR = timedelta(hours=1)


@pytest.mark.parametrize("metric", list(Metric), ids=str)
def test_every_metric_has_a_chart(signed_in: Client, metric: Metric) -> None:
    """The query string selects it, and its link is marked as current."""
    run = make_finished_run(make_endpoint())
    _measure(run, metric, trials=20, failures=1)

    page = signed_in.get(f"/endpoints/steady/?metric={metric}&range=24h")

    assert page.context["metric"] is metric
    assert "of 20 trials" in page.context["card"].finding
    address = f"/endpoints/steady/?metric={metric}&amp;range=24h"
    assert_contains(page, f'data-follow href="{address}" aria-current="true">')


def test_an_unknown_metric_falls_back_to_parse_success(signed_in: Client) -> None:
    """An invalid query string still shows a chart."""
    make_finished_run(make_endpoint())

    page = signed_in.get("/endpoints/steady/?metric=<b>nonsense")

    assert_contains(page, "Parse success: 100%, 5 of 5 trials")
    assert_not_contains(page, "<b>nonsense")


def test_links_keep_metric_and_range(signed_in: Client) -> None:
    """Changing one keeps the other, also in the refresh after a run."""
    make_endpoint()

    page = signed_in.get("/endpoints/steady/?metric=leak&range=30d")

    assert_contains(page, 'href="/endpoints/steady/?metric=leak&amp;range=24h"')
    assert_contains(page, 'href="/endpoints/steady/?metric=schema_failure&amp;range=30d"')
    assert_contains(page, 'hx-get="/endpoints/steady/chart/?metric=leak&amp;range=30d"')


def test_a_run_without_trials_of_the_metric_is_no_point(signed_in: Client) -> None:
    """A run without a verdict is shown, a run without data is not."""
    endpoint = make_endpoint()
    make_finished_run(endpoint)
    assert_contains(signed_in.get("/endpoints/steady/?metric=leak"), "has a trial of leaked calls")

    make_finished_run(endpoint, passed=0, void=5)
    page = signed_in.get("/endpoints/steady/?metric=leak")

    assert page.context["points"] == 1


def test_live_traffic_is_drawn_beside_the_runs(signed_in: Client) -> None:
    """Only the live traffic of the metric is drawn."""
    endpoint = make_endpoint()
    make_finished_run(endpoint)
    _roll_up(endpoint, Metric.PARSE_SUCCESS, failures=30)
    _roll_up(endpoint, Metric.LEAK, failures=1)

    page = signed_in.get("/endpoints/steady/?range=30d")

    assert (page.context["points"], page.context["live_points"]) == (1, 1)
    assert_contains(page, "70%, 70 of 100 trials")
    assert_contains(page, "1 run. 1 span of live traffic.")


def test_small_charts_show_the_rate_of_the_range_with_its_denominator(db: None) -> None:
    """The rate is over all runs in the range; a metric without trials has no data."""
    endpoint = make_endpoint()
    for hours, failures in ((1, 2), (3, 0), (50, 8)):
        run = make_finished_run(endpoint, at=timezone.now() - hours * HOUR)
        _measure(run, Metric.SCHEMA_FAILURE, trials=8, failures=failures)

    small = {
        each.metric: each for each in small_multiples.read_small_charts(endpoint, _window("24h"))
    }

    assert tuple(small) == tuple(Metric)
    assert small[Metric.SCHEMA_FAILURE].rate == metric_rate(Metric.SCHEMA_FAILURE, 16, 2)
    assert small[Metric.SCHEMA_FAILURE].points == 2
    assert small[Metric.REPAIR_SUCCESS].rate is None
    assert small[Metric.REPAIR_SUCCESS].drawn is None


def test_small_charts_of_many_runs_are_read_from_rollups(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cost does not grow with the number of runs."""
    monkeypatch.setattr("dashboard.charts.run_history.MAX_RUNS", 1)
    endpoint = make_endpoint()
    for hours in (1, 3):
        make_finished_run(endpoint, at=timezone.now() - hours * HOUR)
    _roll_up(endpoint, Metric.LEAK, failures=4, lane=0)

    small = {
        each.metric: each for each in small_multiples.read_small_charts(endpoint, _window("24h"))
    }

    assert small[Metric.LEAK].rate == metric_rate(Metric.LEAK, 100, 4)
    assert small[Metric.PARSE_SUCCESS].rate is None


def test_small_charts_are_links_and_show_missing_data(signed_in: Client) -> None:
    """Each links to the chart of its metric in the same range."""
    run = make_finished_run(make_endpoint())
    _measure(run, Metric.SCHEMA_FAILURE, trials=8, failures=2)

    part = signed_in.get("/endpoints/steady/chart/?metric=schema_failure&range=30d")

    cards = part.content.decode().split('class="multiples"')[1].split("<li")[1:]
    assert len(cards) == len(Metric)
    assert "25%" in cards[1]
    assert "2/8" in cards[1]
    assert 'aria-current="true"' in cards[1]
    assert 'href="/endpoints/steady/?metric=closure_error&amp;range=30d"' in cards[2]
    assert "no data" in cards[2]
    assert "<svg" not in cards[2]


def test_a_longer_history_needs_no_more_count_queries(signed_in: Client) -> None:
    """The number of queries does not depend on the number of runs and metrics."""
    endpoint = make_endpoint()
    make_finished_run(endpoint, at=timezone.now() - 40 * HOUR)
    few = _count_queries(signed_in)
    for hours in range(1, 36):
        run = make_finished_run(endpoint, at=timezone.now() - hours * HOUR)
        for metric in WATCHED[1:]:
            _measure(run, metric, trials=5, failures=1)

    assert _count_queries(signed_in) == few


def _count_queries(client: Client) -> int:
    with CaptureQueriesContext(connection) as queries:
        client.get("/endpoints/steady/chart/?range=7d")
    return len(queries)


def _measure(run: Run, metric: Metric, *, trials: int, failures: int) -> None:
    assert run.finished_at is not None
    RunMetric.objects.update_or_create(
        run=run,
        metric=metric.value,
        defaults={
            "profile": run.profile,
            "trials": trials,
            "failures": failures,
            "finished_at": run.finished_at,
        },
    )


def _window(name: str) -> TimeWindow:
    return parse_window({"range": name}, timezone.now())


def _roll_up(endpoint: Endpoint, metric: Metric, *, failures: int, lane: int = 1) -> None:
    RollupHour.objects.create(
        profile_id=endpoint.profile.pk,
        metric=PLACES[metric],
        lane=lane,
        bucket=(timezone.now() - 2 * HOUR).replace(minute=0, second=0, microsecond=0),
        trials=100,
        failures=failures,
    )
