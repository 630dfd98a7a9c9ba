from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from dashboard.charts.series import SeriesPoint, read_series
from dashboard.core import partitions
from dashboard.models import Endpoint, Profile
from dashboard.runs.observations import LIVE, PROBE
from health.observation_bits import PLACES
from probes.outcomes import Metric
from tests.dashboard.runs.storage.builders import (
    build_observation,
    roll_up_all,
    sql,
    store_observations,
)
from tests.factories import make_endpoint

HOUR = timedelta(hours=1)
NOW = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)  # as good as now


@pytest.fixture
def endpoint(db: None) -> Endpoint:
    return make_endpoint()


def store_events(endpoint: Endpoint, *ages: timedelta, epoch: int = 1, **metrics: bool) -> None:
    """Store one live event per age, and roll up."""
    profile = Profile.objects.get(endpoint=endpoint, epoch=epoch)
    store_observations(
        *(build_observation(profile=profile.pk, at=NOW - age, **metrics) for age in ages)
    )
    roll_up_all()


def start_epoch(endpoint: Endpoint, epoch: int) -> None:
    endpoint.profiles.update(ended_at=NOW)
    Profile.objects.create(endpoint=endpoint, epoch=epoch, key_hash=b"")


@contextmanager
def capture_statements() -> Iterator[list[tuple[str, Any]]]:
    """The statements sent to the database."""
    sent: list[tuple[str, Any]] = []

    def capture(execute: Any, statement: str, values: Any, many: bool, context: Any) -> Any:
        sent.append((statement, values))
        return execute(statement, values, many, context)

    with connection.execute_wrapper(capture):
        yield sent


@pytest.mark.parametrize(
    ("days", "level", "step"),
    [
        (1, "5m", timedelta(minutes=5)),
        (7, "5m", timedelta(minutes=10)),
        (14, "5m", timedelta(minutes=15)),
        (30, "hour", HOUR),
        (90, "hour", 2 * HOUR),
        (365, "hour", 6 * HOUR),
        (500, "day", timedelta(days=1)),
        (5000, "day", timedelta(days=7)),
    ],
)
def test_the_level_depends_on_the_span(
    endpoint: Endpoint, days: int, level: str, step: timedelta
) -> None:
    """The step is the finest one with at most 1,500 points, read from the cheapest level."""
    series = read_series(
        endpoint, Metric.LEAK, lane=LIVE, start=NOW - timedelta(days=days), end=NOW
    )

    assert (series.level, series.step) == (level, step)


@pytest.mark.parametrize(("age", "level"), [(20, "5m"), (36, "hour"), (401, "day")])
def test_a_level_that_has_expired_is_not_read(endpoint: Endpoint, age: int, level: str) -> None:
    """A day in the past is read from the finest level that is still kept."""
    start = NOW - timedelta(days=age)

    series = read_series(
        endpoint, Metric.LEAK, lane=LIVE, start=start, end=start + timedelta(days=1)
    )

    assert series.level == level


def test_points_add_up_their_step(endpoint: Endpoint) -> None:
    """A step of two hours sums the trials of both; steps without trials are omitted."""
    start = NOW - timedelta(days=80)
    ages = [NOW - start, NOW - start - HOUR, NOW - start - 5 * HOUR]
    store_events(endpoint, *ages, leak=True)
    store_events(endpoint, *ages[:1], leak=False)

    series = read_series(endpoint, Metric.LEAK, lane=LIVE, start=start, end=NOW)

    assert series.step == 2 * HOUR
    assert series.points == (SeriesPoint(start, 1, 3, 1), SeriesPoint(start + 4 * HOUR, 1, 1, 0))


def test_a_span_begins_with_the_step_that_holds_its_start(endpoint: Endpoint) -> None:
    """The first step is complete, and the end is exclusive."""
    store_events(endpoint, HOUR, timedelta(0))

    series = read_series(
        endpoint,
        Metric.PARSE_SUCCESS,
        lane=LIVE,
        start=NOW - HOUR + timedelta(minutes=4),
        end=NOW,
    )

    assert series.points == (SeriesPoint(NOW - HOUR, 1, 1, 0),)


def test_metrics_and_lanes_and_endpoints_stay_apart(endpoint: Endpoint) -> None:
    """A series has one endpoint, one metric and one lane."""
    store_events(endpoint, HOUR, leak=True)
    store_events(make_endpoint(slug="other"), HOUR, parse_success=True)

    span: dict[str, Any] = {"start": NOW - 2 * HOUR, "end": NOW}
    assert read_series(endpoint, Metric.PARSE_SUCCESS, lane=LIVE, **span).points == ()
    assert read_series(endpoint, Metric.LEAK, lane=PROBE, **span).points == ()
    assert len(read_series(endpoint, Metric.LEAK, lane=LIVE, **span).points) == 1


def test_epochs_have_points_of_their_own(endpoint: Endpoint) -> None:
    """If the key changed within a step, both profiles have a point."""
    store_events(endpoint, HOUR)
    start_epoch(endpoint, 2)
    store_events(endpoint, HOUR, epoch=2)

    series = read_series(endpoint, Metric.PARSE_SUCCESS, lane=LIVE, start=NOW - 2 * HOUR, end=NOW)

    assert [point.epoch for point in series.points] == [1, 2]


def test_epochs_do_not_make_too_many_points(endpoint: Endpoint) -> None:
    """With more than one point per step, the step becomes wider."""
    ages = [timedelta(minutes=minutes) for minutes in range(5, 50, 5)]
    store_events(endpoint, *ages)
    start_epoch(endpoint, 2)
    store_events(endpoint, *ages, epoch=2)
    span: dict[str, Any] = {"start": NOW - HOUR, "end": NOW}

    series = read_series(endpoint, Metric.PARSE_SUCCESS, lane=LIVE, most=14, **span)

    assert len(series.points) <= 14
    assert sum(point.trials for point in series.points) == 18


@pytest.mark.usefixtures("whole_store")
def test_a_chart_of_ninety_days_is_read_from_the_index_alone() -> None:
    """No partition of raw rows is read."""
    endpoint = make_endpoint()
    span: dict[str, Any] = {"start": NOW - timedelta(days=90), "end": NOW}
    _fill_rollups(endpoint.profile.pk)

    with capture_statements() as sent:
        series = read_series(endpoint, Metric.PARSE_SUCCESS, lane=LIVE, **span)
    statement, values = sent[-1]
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS OFF) {statement}", values)
        plan = "\n".join(line for (line,) in cursor.fetchall())

    assert len(series.points) == 1080
    assert "Index Only Scan using dashboard_rolluphour_" in plan
    assert "Seq Scan" not in plan
    assert "Heap Fetches: 0" in plan
    assert not [part for part in sent if "observation" in part[0]]


def _fill_rollups(profile: int) -> None:
    """Fill ninety days of hours for twenty profiles, vacuumed, as roll_up would."""
    months = [NOW - timedelta(days=days) for days in range(0, 91, 15)]
    partitions.ensure_months([month.date() for month in months], parents=partitions.ROLLUPS)
    with transaction.atomic():
        # VACUUM does not mark rows as all-visible before they are flushed to disk.
        sql("SET LOCAL synchronous_commit = on")
        sql(f"""
            INSERT INTO dashboard_rolluphour
            SELECT {profile} + p, {PLACES[Metric.PARSE_SUCCESS]}, {LIVE}, hour, 9, 1
            FROM generate_series(0, 19) p, generate_series(timestamptz '{NOW - timedelta(days=90)}',
                timestamptz '{NOW - HOUR}', interval '1 hour') hour
            ORDER BY hour, p
        """)  # noqa: S608
    sql("VACUUM ANALYZE dashboard_rolluphour")
