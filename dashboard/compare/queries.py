"""Queries of the compare page. Their number does not depend on the number of endpoints.

The table shows the current profile only: results under another key are not comparable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from django.db.models import Count, Min, Q

from dashboard.charts.series import Series, read_series_of_endpoints
from dashboard.compare.filters import CompareFilter, Span
from dashboard.core.sql import fetch_rows
from dashboard.models import Endpoint, Profile
from dashboard.models.endpoint import EndpointQuerySet
from dashboard.models.people import Teams
from dashboard.runs import observations
from dashboard.runs.rollups import ORIGIN
from health.observation_bits import PLACES
from health.rates import Rate, metric_rate
from health.status import FAILING_BELOW, HEALTHY_FROM
from probes.outcomes import Metric

PAGE_SIZE = 50
MIN_LINES, MAX_LINES = 2, 6
# More points than this per line would cover the other lines.
MAX_POINTS = 200
GOOD_FROM = 0.98
_METRICS = {place: metric for metric, place in PLACES.items()}


class Level(StrEnum):
    """The rating of a cell."""

    GOOD = "good"
    FAIR = "fair"
    WEAK = "weak"
    BAD = "bad"
    NONE = "no data"


@dataclass(frozen=True, slots=True)
class MetricCell:
    """A metric of an endpoint over a span or in a run. Without data there is no rate."""

    metric: Metric
    rate: Rate | None = None
    run_id: int | None = None  # set if the rate is of a single run

    @property
    def level(self) -> Level:
        if self.rate is None:
            return Level.NONE
        # Rounded to whole percent like the displayed rate: 89.9 % shows as 90 %, which is fair.
        success_rate = round(1 - self.rate.failures / self.rate.trials, 2)
        levels = ((GOOD_FROM, Level.GOOD), (HEALTHY_FROM, Level.FAIR), (FAILING_BELOW, Level.WEAK))
        return next((level for minimum, level in levels if success_rate >= minimum), Level.BAD)


@dataclass(frozen=True, slots=True)
class ChartLine:
    """The series of one endpoint in the chart."""

    endpoint: Endpoint
    metric: Metric
    series: Series

    @property
    def total(self) -> Rate | None:
        """The rate over the whole range."""
        trials = sum(point.trials for point in self.series.points)
        failures = sum(point.failures for point in self.series.points)
        return metric_rate(self.metric, trials, failures) if trials else None

    @property
    def worst_step(self) -> Rate | None:
        points = self.series.points
        if not points:
            return None
        worst = max(points, key=lambda point: (point.failures / point.trials, point.trials))
        return metric_rate(self.metric, worst.trials, worst.failures)


def filter_endpoints(compare_filter: CompareFilter, teams: Teams) -> EndpointQuerySet:
    """The endpoints that have a row in the table."""
    endpoints = Endpoint.objects.kept().of_teams(teams).order_by("slug")
    if compare_filter.model:
        endpoints = endpoints.filter(model=compare_filter.model)
    if query := compare_filter.q:
        endpoints = endpoints.filter(Q(slug__icontains=query) | Q(model__icontains=query))
    return endpoints


def count_shared_models(teams: Teams) -> dict[str, int]:
    """The number of endpoints per model, for models that several endpoints serve."""
    endpoints = Endpoint.objects.kept().of_teams(teams)
    counts = endpoints.values("model").annotate(times=Count("pk"))
    shared = counts.filter(times__gt=1).order_by("model").values_list("model", "times")
    return dict(shared)


def read_cells(
    endpoints: Iterable[Endpoint], span: Span, now: datetime
) -> dict[int, tuple[MetricCell, ...]]:
    """A cell per metric for each endpoint id, in the order of the metrics."""
    ids = [endpoint.pk for endpoint in endpoints]
    cells = _read_last_run_cells(ids) if span.length is None else _read_span_cells(ids, span, now)
    return {
        pk: tuple(cells.get((pk, metric)) or MetricCell(metric) for metric in Metric) for pk in ids
    }


def read_current_profiles(endpoints: Iterable[Endpoint]) -> dict[int, Profile]:
    """The current profile by endpoint id."""
    ids = [endpoint.pk for endpoint in endpoints]
    profiles = Profile.objects.filter(endpoint__in=ids, ended_at=None)
    return {profile.endpoint_id: profile for profile in profiles}


def select_endpoints(compare_filter: CompareFilter, teams: Teams) -> list[Endpoint]:
    """The endpoints to draw. Without a selection, the first endpoints of the chosen model."""
    if compare_filter.endpoint:
        visible = Endpoint.objects.kept().of_teams(teams)
        selected = visible.filter(slug__in=compare_filter.endpoint).order_by("slug")
    elif compare_filter.model:
        selected = filter_endpoints(compare_filter, teams)
    else:
        return []
    # One more than is drawn shows that there are more.
    return list(selected[: MAX_LINES + 1])


def read_chart_lines(
    endpoints: Sequence[Endpoint], compare_filter: CompareFilter, now: datetime
) -> list[ChartLine]:
    """A line per endpoint, all with the same step."""
    metric, length = compare_filter.metric, compare_filter.range.span
    series = read_series_of_endpoints(
        endpoints,
        metric,
        lane=observations.PROBE,
        start=now - length if length else _earliest_profile(endpoints, now),
        end=now,
        most=MAX_POINTS,
    )
    return [ChartLine(endpoint, metric, series[endpoint.pk]) for endpoint in endpoints]


def _earliest_profile(endpoints: Sequence[Endpoint], now: datetime) -> datetime:
    profiles = Profile.objects.filter(endpoint__in=[endpoint.pk for endpoint in endpoints])
    first: datetime | None = profiles.aggregate(first=Min("created_at"))["first"]
    return min(first or now, now)


def _read_last_run_cells(ids: list[int]) -> Mapping[tuple[int, Metric], MetricCell]:
    return {
        (endpoint, Metric(name)): MetricCell(
            Metric(name), metric_rate(Metric(name), trials, failures), run_id=run
        )
        for endpoint, name, trials, failures, run in fetch_rows(_LAST_RUNS, {"endpoints": ids})
    }


def _read_span_cells(
    ids: list[int], span: Span, now: datetime
) -> Mapping[tuple[int, Metric], MetricCell]:
    length = span.length
    assert length is not None
    # Only whole buckets can be summed: start at the beginning of the first one.
    since = ORIGIN + (now - length - ORIGIN) // _STEPS[span] * _STEPS[span]
    parameters = {"endpoints": ids, "places": list(_METRICS), "since": since}
    parameters["lane"] = observations.PROBE
    return {
        (endpoint, metric): MetricCell(metric, metric_rate(metric, trials, failures))
        for endpoint, place, trials, failures in fetch_rows(_SUMS[span], parameters)
        if (metric := _METRICS.get(place))
    }


_LAST_RUNS = """
SELECT p.endpoint_id, m.metric, m.trials, m.failures, m.run_id
FROM dashboard_profile p
CROSS JOIN LATERAL (
    SELECT id FROM dashboard_run
    WHERE endpoint_id = p.endpoint_id AND profile_id = p.id
        AND state IN ('finished', 'failed') AND void_kind <> 'over_budget'
    ORDER BY id DESC LIMIT 1) r
JOIN dashboard_runmetric m ON m.run_id = r.id
WHERE p.endpoint_id = ANY(%(endpoints)s::bigint[]) AND p.ended_at IS NULL
"""

_SUM = """
SELECT p.endpoint_id, r.metric, sum(r.trials), sum(r.failures)
FROM dashboard_profile p JOIN {table} r ON r.profile_id = p.id
WHERE p.endpoint_id = ANY(%(endpoints)s::bigint[]) AND p.ended_at IS NULL
    AND r.metric = ANY(%(places)s::smallint[]) AND r.lane = %(lane)s AND r.bucket >= %(since)s
GROUP BY 1, 2
"""
_HOURS, _DAYS = _SUM.format(table="dashboard_rolluphour"), _SUM.format(table="dashboard_rollupday")
_SUMS = {Span.DAY: _HOURS, Span.WEEK: _HOURS, Span.MONTH: _DAYS}
_STEPS = {
    Span.DAY: timedelta(hours=1),
    Span.WEEK: timedelta(hours=1),
    Span.MONTH: timedelta(days=1),
}
