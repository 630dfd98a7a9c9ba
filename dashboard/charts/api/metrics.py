"""Rates: of one run, and of an endpoint over time."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any

from django.http import HttpRequest
from django.utils import timezone
from ninja import Query, Router
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from dashboard.api import auth
from dashboard.api.errors import ApiError, Detail
from dashboard.api.lookups import Slug, find_endpoint
from dashboard.charts import series
from dashboard.models.observation import EARLIEST, LATEST
from dashboard.runs import observations
from dashboard.runs.api.runs import RunId, find_run
from health.rates import Rate, metric_rate
from probes.outcomes import Metric

of_run = Router(tags=["metrics"])
of_endpoint = Router(tags=["metrics"])

WEEK = timedelta(days=7)

_RATE: dict[str, Any] = {"trials": 40, "failures": 2, "rate": 0.95, "low": 0.83, "high": 0.99}


class RateOut(BaseModel):
    trials: int
    failures: int = Field(description="Trials that went badly, whichever way the metric is good")
    rate: float | None = Field(description="null without trials: no data is not 0")
    low: float | None = Field(description="The 95 % interval begins here")
    high: float | None = Field(description="and ends here")


class RunMetrics(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"metrics": {"parse_success": _RATE}}]}
    )

    metrics: dict[str, RateOut]


class PointOut(RateOut):
    at: datetime
    epoch: int = Field(description="Which profile: another one is another key")


class Lane(StrEnum):
    PROBE = "probe"
    LIVE = "live"


class Wanted(BaseModel):
    metric: Metric = Metric.PARSE_SUCCESS
    lane: Lane = Lane.PROBE
    start: AwareDatetime | None = Field(
        default=None, alias="from", description="Else a week before `to`"
    )
    end: AwareDatetime | None = Field(default=None, alias="to", description="Else now")

    def span(self) -> tuple[datetime, datetime]:
        """Start and end; refuses an empty span."""
        end = self.end or timezone.now()
        start = self.start or max(end, EARLIEST + WEEK) - WEEK
        if not EARLIEST <= start < end <= LATEST:
            message = "This must be earlier than `to`, and neither far from now."
            raise ApiError(422, f"from: {message}", details=[Detail(field="from", message=message)])
        return start, end


class SeriesOut(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "metric": "parse_success",
                    "lane": "probe",
                    "level": "hour",
                    "step_s": 3600,
                    "points": [{"at": "2026-05-01T12:00:00Z", "epoch": 1, **_RATE}],
                }
            ]
        }
    )

    metric: Metric
    lane: Lane
    level: str = Field(description="Which buckets were read: 5m, hour or day")
    step_s: int = Field(description="How long one point is")
    points: list[PointOut]


@of_run.get(
    "/{int:run_id}/metrics",
    auth=auth.READ,
    response=RunMetrics,
    summary="Read the metrics of a run",
)
def run_metrics(request: HttpRequest, run_id: RunId) -> RunMetrics:
    """Empty until the run has come to a verdict."""
    rows = find_run(run_id).metrics.order_by("metric")
    rates = {row.metric: metric_rate(Metric(row.metric), row.trials, row.failures) for row in rows}
    return RunMetrics(metrics={name: _rate(rate) for name, rate in rates.items()})


@of_endpoint.get(
    "/{slug:slug}/metrics",
    auth=auth.READ,
    response=SeriesOut,
    summary="Read a metric of an endpoint over time",
)
def endpoint_metrics(
    request: HttpRequest, slug: Slug, query: Annotated[Wanted, Query()]
) -> SeriesOut:
    """At most 1,500 points; a longer span has longer points."""
    start, end = query.span()
    lane = observations.PROBE if query.lane is Lane.PROBE else observations.LIVE
    metric_series = series.read_series(
        find_endpoint(slug), query.metric, lane=lane, start=start, end=end
    )
    return SeriesOut(
        metric=query.metric,
        lane=query.lane,
        level=metric_series.level,
        step_s=int(metric_series.step.total_seconds()),
        points=[_point(query.metric, point) for point in metric_series.points],
    )


def _point(metric: Metric, point: series.SeriesPoint) -> PointOut:
    rate = _rate(metric_rate(metric, point.trials, point.failures))
    return PointOut(at=point.at, epoch=point.epoch, **rate.model_dump())


def _rate(rate: Rate) -> RateOut:
    return RateOut(
        trials=rate.trials, failures=rate.failures, rate=rate.value, low=rate.low, high=rate.high
    )
