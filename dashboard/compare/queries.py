"""What the page that compares endpoints reads: as many queries for two of them as for a thousand.

Everything in the table is of the present profile: under another key it was another thing.
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

PAGE = 50
FEWEST_LINES, MOST_LINES = 2, 6
# A line of more points than this hides the lines beside it.
MOST_POINTS = 200
GOOD_FROM = 0.98
_METRICS = {place: metric for metric, place in PLACES.items()}


class Level(StrEnum):
    """How good a cell is, in a word."""

    GOOD = "good"
    FAIR = "fair"
    WEAK = "weak"
    BAD = "bad"
    NONE = "no data"


@dataclass(frozen=True, slots=True)
class Cell:
    """A metric of an endpoint over some time; without a rate there is no data."""

    metric: Metric
    rate: Rate | None = None
    run_id: int | None = None  # where it is of a single run

    @property
    def level(self) -> Level:
        if self.rate is None:
            return Level.NONE
        # In whole percent, as it is shown: 90 % must not be called weak because it is 89.9 %.
        went_well = round(1 - self.rate.failures / self.rate.trials, 2)
        steps = ((GOOD_FROM, Level.GOOD), (HEALTHY_FROM, Level.FAIR), (FAILING_BELOW, Level.WEAK))
        return next((level for bar, level in steps if went_well >= bar), Level.BAD)


@dataclass(frozen=True, slots=True)
class Line:
    """An endpoint of the chart, with all of the range together."""

    endpoint: Endpoint
    metric: Metric
    series: Series

    @property
    def together(self) -> Rate | None:
        trials = sum(point.trials for point in self.series.points)
        failures = sum(point.failures for point in self.series.points)
        return metric_rate(self.metric, trials, failures) if trials else None

    @property
    def worst(self) -> Rate | None:
        """The worst step of the range."""
        points = self.series.points
        if not points:
            return None
        found = max(points, key=lambda point: (point.failures / point.trials, point.trials))
        return metric_rate(self.metric, found.trials, found.failures)


def listed(asked: CompareFilter, teams: Teams) -> EndpointQuerySet:
    """The endpoints of those teams that the table has rows for."""
    found = Endpoint.objects.kept().of_teams(teams).order_by("slug")
    if asked.model:
        found = found.filter(model=asked.model)
    if asked.q:
        found = found.filter(Q(slug__icontains=asked.q) | Q(model__icontains=asked.q))
    return found


def shared_models(teams: Teams) -> dict[str, int]:
    """Every model that several endpoints of those teams serve, and how many do."""
    seen = Endpoint.objects.kept().of_teams(teams)
    kept = seen.values("model").annotate(times=Count("pk"))
    found = kept.filter(times__gt=1).order_by("model").values_list("model", "times")
    return dict(found)


def cells(endpoints: Iterable[Endpoint], span: Span, now: datetime) -> dict[int, tuple[Cell, ...]]:
    """For each endpoint by its id a cell a metric, in the order of the metrics."""
    ids = [endpoint.pk for endpoint in endpoints]
    found = _of_last_runs(ids) if span.length is None else _of_span(ids, span, now)
    return {pk: tuple(found.get((pk, metric)) or Cell(metric) for metric in Metric) for pk in ids}


def present_profiles(endpoints: Iterable[Endpoint]) -> dict[int, Profile]:
    """The present profile of each endpoint, by the endpoint's id."""
    ids = [endpoint.pk for endpoint in endpoints]
    found = Profile.objects.filter(endpoint__in=ids, ended_at=None)
    return {profile.endpoint_id: profile for profile in found}


def chosen(asked: CompareFilter, teams: Teams) -> list[Endpoint]:
    """The endpoints to draw; of a model nobody chose from, the first that serve it."""
    if asked.endpoint:
        seen = Endpoint.objects.kept().of_teams(teams)
        kept = seen.filter(slug__in=asked.endpoint).order_by("slug")
    elif asked.model:
        kept = listed(asked, teams)
    else:
        return []
    # One more, so that the page can say that not all are drawn.
    return list(kept[: MOST_LINES + 1])


def lines(endpoints: Sequence[Endpoint], asked: CompareFilter, now: datetime) -> list[Line]:
    """A line for each endpoint, all in the same steps."""
    length = asked.range.span
    found = read_series_of_endpoints(
        endpoints,
        asked.metric,
        lane=observations.PROBE,
        start=now - length if length else _beginning(endpoints, now),
        end=now,
        most=MOST_POINTS,
    )
    return [Line(endpoint, asked.metric, found[endpoint.pk]) for endpoint in endpoints]


def _beginning(endpoints: Sequence[Endpoint], now: datetime) -> datetime:
    profiles = Profile.objects.filter(endpoint__in=[endpoint.pk for endpoint in endpoints])
    first: datetime | None = profiles.aggregate(first=Min("created_at"))["first"]
    return min(first or now, now)


def _of_last_runs(ids: list[int]) -> Mapping[tuple[int, Metric], Cell]:
    return {
        (endpoint, Metric(name)): Cell(
            Metric(name), metric_rate(Metric(name), trials, failures), run_id=run
        )
        for endpoint, name, trials, failures, run in fetch_rows(_LAST_RUNS, {"endpoints": ids})
    }


def _of_span(ids: list[int], span: Span, now: datetime) -> Mapping[tuple[int, Metric], Cell]:
    length = span.length
    assert length is not None
    # Buckets are whole: the first one is counted from its beginning.
    since = ORIGIN + (now - length - ORIGIN) // _STEPS[span] * _STEPS[span]
    wanted = {"endpoints": ids, "places": list(_METRICS), "since": since}
    wanted["lane"] = observations.PROBE
    return {
        (endpoint, metric): Cell(metric, metric_rate(metric, trials, failures))
        for endpoint, place, trials, failures in fetch_rows(_SUMS[span], wanted)
        if (metric := _METRICS.get(place))
    }


_LAST_RUNS = """
SELECT p.endpoint_id, m.metric, m.trials, m.failures, m.run_id
FROM dashboard_profile p
CROSS JOIN LATERAL (
    SELECT id FROM dashboard_run
    WHERE endpoint_id = p.endpoint_id AND profile_id = p.id AND finished_at IS NOT NULL
    ORDER BY id DESC LIMIT 1) r
JOIN dashboard_runmetric m ON m.run_id = r.id
WHERE p.endpoint_id = ANY(%(endpoints)s::bigint[]) AND p.ended_at IS NULL
"""

_OF = """
SELECT p.endpoint_id, r.metric, sum(r.trials), sum(r.failures)
FROM dashboard_profile p JOIN {table} r ON r.profile_id = p.id
WHERE p.endpoint_id = ANY(%(endpoints)s::bigint[]) AND p.ended_at IS NULL
    AND r.metric = ANY(%(places)s::smallint[]) AND r.lane = %(lane)s AND r.bucket >= %(since)s
GROUP BY 1, 2
"""
_HOURS, _DAYS = _OF.format(table="dashboard_rolluphour"), _OF.format(table="dashboard_rollupday")
_SUMS = {Span.DAY: _HOURS, Span.WEEK: _HOURS, Span.MONTH: _DAYS}
_STEPS = {
    Span.DAY: timedelta(hours=1),
    Span.WEEK: timedelta(hours=1),
    Span.MONTH: timedelta(days=1),
}
