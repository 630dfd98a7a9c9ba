"""A metric over time, read from the rollups: the cost depends on the points shown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any

from django.conf import settings

from dashboard.core.sql import fetch_row, fetch_rows
from dashboard.models import Endpoint, Profile
from dashboard.runs.rollups import ORIGIN
from health.observation_bits import PLACES
from probes.outcomes import Metric

# What a browser can draw and a person can read.
MAX_POINTS = 1500

# Fine to coarse. A level has few step sizes, so that a point combines few rows.
_STEPS = (
    *(("5m", timedelta(minutes=minutes)) for minutes in (5, 10, 15)),
    *(("hour", timedelta(hours=hours)) for hours in (1, 2, 3, 6)),
    *(("day", timedelta(days=days)) for days in (1, 2, 7, 14, 28, 56, 112, 224)),
)


@dataclass(frozen=True, slots=True)
class SeriesPoint:
    """The trials of one profile in one step of time."""

    at: datetime  # when the step begins
    epoch: int
    trials: int
    failures: int


@dataclass(frozen=True, slots=True)
class Series:
    """Points in order of time. Steps without trials have no point: no data is not 0."""

    level: str  # "5m", "hour" or "day"
    step: timedelta
    points: tuple[SeriesPoint, ...]


def read_series(  # noqa: PLR0913 -- keyword-only: what a chart asks for
    endpoint: Endpoint,
    metric: Metric,
    *,
    lane: int,
    start: datetime,
    end: datetime,
    most: int = MAX_POINTS,
) -> Series:
    """The finest series of at most `most` points that touch the span, all epochs together."""
    epochs = dict(Profile.objects.filter(endpoint=endpoint).values_list("id", "epoch"))
    parameters = {"profiles": list(epochs), "metric": PLACES[metric], "lane": lane, "end": end}
    level, step = _STEPS[-1]
    points: tuple[SeriesPoint, ...] = ()
    for level, step in _fitting_steps(start, end, most):
        first = ORIGIN + (start - ORIGIN) // step * step
        points = _read_points(
            level, parameters | {"start": first, "step": step, "origin": ORIGIN}, epochs
        )
        # A step in which the key changed has a point for each epoch.
        if len(points) <= most:
            break
    return Series(level, step, points[-most:])


def read_series_of_endpoints(  # noqa: PLR0913 -- keyword-only: what a chart asks for
    endpoints: Sequence[Endpoint],
    metric: Metric,
    *,
    lane: int,
    start: datetime,
    end: datetime,
    most: int = MAX_POINTS,
) -> dict[int, Series]:
    """One series per endpoint id, all with the same steps."""
    ids = [endpoint.pk for endpoint in endpoints]
    profiles = Profile.objects.filter(endpoint__in=ids).values_list("id", "endpoint_id", "epoch")
    owners = {profile: endpoint for profile, endpoint, _ in profiles}
    epochs = {profile: epoch for profile, _, epoch in profiles}
    parameters = {"profiles": list(epochs), "metric": PLACES[metric], "lane": lane, "end": end}
    level, step = next(_fitting_steps(start, end, most))
    parameters |= {
        "start": ORIGIN + (start - ORIGIN) // step * step,
        "step": step,
        "origin": ORIGIN,
    }
    points: dict[int, list[SeriesPoint]] = defaultdict(list)
    for record in fetch_rows(_ONE_METRIC_BY_LEVEL[level], parameters):
        points[owners[record[1]]].append(_series_point(record, epochs))
    return {pk: Series(level, step, tuple(points[pk])) for pk in ids}


def read_series_of_metrics(
    endpoint: Endpoint, *, lane: int, start: datetime, end: datetime, most: int
) -> dict[Metric, list[SeriesPoint]]:
    """Points of all metrics over every profile, for small charts. Two queries."""
    profiles = list(Profile.objects.filter(endpoint=endpoint).values_list("id", flat=True))
    level, step = next(_fitting_steps(start, end, most))
    first = ORIGIN + (start - ORIGIN) // step * step
    parameters = {"profiles": profiles, "lane": lane, "start": first, "end": end}
    names = {place: metric for metric, place in PLACES.items()}
    points: dict[Metric, list[SeriesPoint]] = defaultdict(list)
    for at, place, trials, failures in fetch_rows(
        _EVERY_METRIC_BY_LEVEL[level], parameters | {"step": step, "origin": ORIGIN}
    ):
        points[names[place]].append(
            SeriesPoint(datetime.fromtimestamp(at, UTC), 0, trials, failures)
        )
    return points


def step_for(start: datetime, end: datetime, most: int) -> timedelta:
    """The finest step that divides the span into few enough parts."""
    return next((step for _, step in _STEPS if ceil((end - start) / step) < most), _STEPS[-1][1])


def _fitting_steps(start: datetime, end: datetime, most: int) -> Iterator[tuple[str, timedelta]]:
    """The steps that divide the span into few enough parts, on levels that reach back so far.

    Where none does, the coarsest.
    """
    reach = _oldest_kept()
    for level, step in _STEPS:
        if ceil((end - start) / step) < most and start >= reach.get(level, start):
            yield level, step
    yield _STEPS[-1]


def _oldest_kept() -> dict[str, datetime]:
    now_row = fetch_row("SELECT statement_timestamp()")
    assert now_row is not None
    days = {"5m": settings.KEEP_5M_DAYS, "hour": settings.KEEP_HOURS_DAYS}
    return {level: now_row[0] - timedelta(days=kept) for level, kept in days.items()}


def _read_points(
    level: str, parameters: dict[str, Any], epochs: dict[int, int]
) -> tuple[SeriesPoint, ...]:
    return tuple(
        _series_point(record, epochs)
        for record in fetch_rows(_ONE_METRIC_BY_LEVEL[level], parameters)
    )


def _series_point(record: tuple[Any, ...], epochs: dict[int, int]) -> SeriesPoint:
    at, profile, trials, failures = record
    return SeriesPoint(datetime.fromtimestamp(at, UTC), epochs[profile], trials, failures)


# Times come as plain seconds: reading a thousand timestamps takes longer than the query.
_ONE_METRIC = """
SELECT EXTRACT(EPOCH FROM date_bin(%(step)s, bucket, %(origin)s))::bigint, profile_id,
    sum(trials), sum(failures)
FROM {table}
WHERE profile_id = ANY(%(profiles)s::bigint[]) AND metric = %(metric)s AND lane = %(lane)s
    AND bucket >= %(start)s AND bucket < %(end)s
GROUP BY 1, 2 ORDER BY 1, 2
"""
_EVERY_METRIC = """
SELECT EXTRACT(EPOCH FROM date_bin(%(step)s, bucket, %(origin)s))::bigint, metric,
    sum(trials), sum(failures)
FROM {table}
WHERE profile_id = ANY(%(profiles)s::bigint[]) AND lane = %(lane)s
    AND bucket >= %(start)s AND bucket < %(end)s
GROUP BY 1, 2 ORDER BY 1, 2
"""
_TABLES = {
    "5m": "dashboard_rollup5m",
    "hour": "dashboard_rolluphour",
    "day": "dashboard_rollupday",
}
_EVERY_METRIC_BY_LEVEL = {
    level: _EVERY_METRIC.format(table=table) for level, table in _TABLES.items()
}
_ONE_METRIC_BY_LEVEL = {level: _ONE_METRIC.format(table=table) for level, table in _TABLES.items()}
