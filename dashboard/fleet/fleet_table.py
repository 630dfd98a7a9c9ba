"""The columns of the fleet table and the metric cells of its rows.

One query reads the cells of a page, independent of the length of the history.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import get_language, pgettext
from django.utils.translation import gettext as _

from dashboard.charts.figures.sparkline import Sparkline, build_sparkline
from dashboard.core.sql import fetch_rows
from dashboard.endpoints.summary import EndpointSummary
from dashboard.fleet.filters import FLEET_METRICS, FleetFilter
from dashboard.templatetags.core import percent
from health.detector import BaselineState
from health.metric_names import metric_name
from health.rates import DIRECTIONS, Direction, Rate, metric_rate
from health.severity import Severity
from health.status import Status, rate_status
from health.translation import say
from probes.outcomes import Metric

# Runs per sparkline.
CELL_RUNS = 12


@dataclass(frozen=True, slots=True)
class Column:
    """`order` is the value of aria-sort, empty unless the list is sorted by this column."""

    label: str
    title: str
    address: str
    order: str
    is_metric: bool = False


def table_columns(fleet_filter: FleetFilter) -> list[Column]:
    return [
        _column(fleet_filter, "name", pgettext("column", "Endpoint")),
        _column(fleet_filter, "status", pgettext("column", "Status")),
        *(_metric_column(fleet_filter, metric) for metric in FLEET_METRICS),
        _column(fleet_filter, "last", pgettext("column", "Runs")),
    ]


def short_name(metric: Metric) -> str:
    """The name of a metric in the header of a narrow column."""
    return {
        Metric.PARSE_SUCCESS: pgettext("column", "Parse"),
        Metric.SCHEMA_FAILURE: pgettext("column", "Schema"),
        Metric.CLOSURE_ERROR: pgettext("column", "Closure"),
        Metric.REASONING_REPLAY_ERROR: pgettext("column", "Replay"),
        Metric.REPAIR_SUCCESS: pgettext("column", "Repair"),
        Metric.PARALLEL_DOWNGRADE: pgettext("column", "Parallel"),
        Metric.UNSAFE_BLOCKED: pgettext("column", "Blocked"),
        Metric.STREAM_DISAGREEMENT: pgettext("column", "Stream"),
        Metric.RESULT_USE: pgettext("column", "Results"),
        Metric.VALUE_FIDELITY: pgettext("column", "Values"),
        Metric.AVAILABILITY: pgettext("column", "Available"),
    }[metric]


def _metric_column(fleet_filter: FleetFilter, metric: Metric) -> Column:
    name = metric_name(metric)
    if DIRECTIONS[metric] is Direction.HIGH:
        title = pgettext("column", "{name}: high is good").format(name=name)
    else:
        title = pgettext("column", "{name}: low is good").format(name=name)
    return _column(fleet_filter, metric.value, short_name(metric), title=title, is_metric=True)


def _column(
    fleet_filter: FleetFilter, sort: str, label: str, *, title: str = "", is_metric: bool = False
) -> Column:
    orders = {sort: "ascending", f"-{sort}": "descending"}
    next_sort = f"-{sort}" if fleet_filter.sort == sort else sort
    return Column(
        label,
        title,
        fleet_filter.address(sort=next_sort),
        orders.get(fleet_filter.sort, ""),
        is_metric,
    )


class RunCounts(NamedTuple):
    """Trials and failures of the last runs, oldest first."""

    trials: tuple[int, ...] = ()
    failures: tuple[int, ...] = ()


class MetricCell(NamedTuple):
    """A metric of an endpoint: its last value, a sparkline and a text for screen readers."""

    name: str
    kind: str
    html: SafeString


def read_cells(summaries: Sequence[EndpointSummary]) -> Mapping[int, tuple[MetricCell, ...]]:
    """One cell per metric for each endpoint, by endpoint id."""
    counts_by_profile = _read_counts([summary.endpoint.profile_id for summary in summaries])
    names, language = [short_name(metric) for metric in FLEET_METRICS], get_language() or ""
    cells = {}
    for summary in summaries:
        counts = counts_by_profile.get(summary.endpoint.profile_id, {})
        cells[summary.endpoint.pk] = tuple(
            _metric_cell(summary, metric, name, counts.get(metric.value), language)
            for metric, name in zip(FLEET_METRICS, names, strict=True)
        )
    return cells


def newest_rates(metric: Metric, summaries: Iterable[EndpointSummary]) -> dict[int, Rate]:
    """The newest rate of one metric by profile id, to sort a list by."""
    profiles = [summary.endpoint.profile_id for summary in summaries]
    runs = CELL_RUNS if metric is Metric.AVAILABILITY else 1
    parameters = {"profiles": profiles, "metrics": [metric.value], "runs": runs}
    return {
        pk: metric_rate(metric, trials, bad)
        for pk, trials, bad in fetch_rows(_NEWEST_COUNTS, parameters)
    }


def _read_counts(profiles: list[int]) -> dict[int, dict[str, RunCounts]]:
    parameters = {
        "profiles": profiles,
        "metrics": [metric.value for metric in FLEET_METRICS],
        "runs": CELL_RUNS,
    }
    counts_by_profile: dict[int, dict[str, RunCounts]] = {}
    for profile, name, trials, failures in fetch_rows(_LAST_COUNTS, parameters):
        counts_by_profile.setdefault(profile, {})[name] = RunCounts(tuple(trials), tuple(failures))
    return counts_by_profile


def _metric_cell(
    summary: EndpointSummary, metric: Metric, name: str, counts: RunCounts | None, language: str
) -> MetricCell:
    status = _cell_status(summary, metric, counts) if counts else Status.WAITING
    return MetricCell(
        name, status.value, _render_cell(language, metric, status, counts or RunCounts())
    )


def _cell_status(summary: EndpointSummary, metric: Metric, counts: RunCounts) -> Status:
    """The open incident decides; without one, a metric with a baseline is healthy."""
    watch = summary.condition
    open_at = [severity for each, severity in watch.incidents if each is metric]
    if metric in watch.below_gate or Severity.S3 in open_at:
        return Status.FAILING
    if open_at:
        return Status.DEGRADED
    is_judged = metric is not Metric.AVAILABILITY and watch.known is not BaselineState.NONE
    return Status.HEALTHY if is_judged else rate_status(_shown_rate(metric, counts))


# The same counts render the same HTML in every row and on every request.
@lru_cache(maxsize=4096)
def _render_cell(language: str, metric: Metric, status: Status, counts: RunCounts) -> SafeString:
    if not counts.trials:
        label = _("{name}: no data.").format(name=metric_name(metric))
        return render_to_string("fleet/_fleet_cell.html", {"label": label})
    pairs = zip(counts.trials, counts.failures, strict=True)
    spark = build_sparkline(
        [metric_rate(metric, trials, failures) for trials, failures in pairs], CELL_RUNS
    )
    rate = _shown_rate(metric, counts)
    context = {"rate": rate, "spark": spark, "label": _cell_label(metric, status, rate, spark)}
    return render_to_string("fleet/_fleet_cell.html", context)


def _shown_rate(metric: Metric, counts: RunCounts) -> Rate:
    if metric is Metric.AVAILABILITY:
        # One run has too few requests to estimate availability.
        return metric_rate(metric, sum(counts.trials), sum(counts.failures))
    return metric_rate(metric, counts.trials[-1], counts.failures[-1])


def _cell_label(metric: Metric, status: Status, rate: Rate, spark: Sparkline) -> str:
    """The text for hover, keyboard focus and screen readers."""
    return _(
        "{name}: {value} ({count} of {trials}, 95 % interval {low} to {high}), {status}. {runs}."
    ).format(
        name=metric_name(metric),
        value=percent(rate.value),
        count=rate.count,
        trials=rate.trials,
        low=percent(rate.low),
        high=percent(rate.high),
        status=say(status.value),
        runs=spark.label,
    )


# The index of the charts has the rows in this order: one index lookup per profile and metric.
_RUN_COUNTS = """
FROM unnest(%(profiles)s::bigint[]) p (id) CROSS JOIN unnest(%(metrics)s::text[]) m (name)
CROSS JOIN LATERAL (
    SELECT trials, failures, finished_at FROM dashboard_runmetric
    WHERE profile_id = p.id AND metric = m.name
    ORDER BY finished_at DESC LIMIT %(runs)s) r
GROUP BY p.id, m.name
"""
_LAST_COUNTS = f"""
SELECT p.id, m.name, array_agg(r.trials ORDER BY r.finished_at),
    array_agg(r.failures ORDER BY r.finished_at)
{_RUN_COUNTS}"""
_NEWEST_COUNTS = f"SELECT p.id, sum(r.trials), sum(r.failures) {_RUN_COUNTS}"
