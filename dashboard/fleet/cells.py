"""The metrics of the endpoints that a page shows: one query, however long their history is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from dashboard.charts.figures.sparkline import Sparkline, sparkline
from dashboard.core.sql import rows
from dashboard.fleet.columns import short
from dashboard.fleet.filters import SHOWN
from dashboard.fleet.queries import Summary
from dashboard.templatetags.core import percent
from health.detector import BaselineState
from health.metric_names import metric_name
from health.rates import Rate, metric_rate
from health.severity import Severity
from health.status import Status, rate_status
from health.translation import say
from probes.outcomes import Metric

# The last runs that a cell draws.
RUNS = 12


class Counts(NamedTuple):
    """Trials and failures of the last runs, the oldest first."""

    trials: tuple[int, ...] = ()
    failures: tuple[int, ...] = ()


class Cell(NamedTuple):
    """A metric of an endpoint: its last value, its last runs in small, and all of it in words."""

    name: str
    kind: str
    html: SafeString


def cells_of(summaries: Sequence[Summary]) -> Mapping[int, tuple[Cell, ...]]:
    """A cell a metric for each endpoint, by the endpoint's id."""
    found = _counts([summary.endpoint.profile_id for summary in summaries])
    names, language = [short(metric) for metric in SHOWN], get_language() or ""
    cells = {}
    for summary in summaries:
        counts = found.get(summary.endpoint.profile_id, {})
        cells[summary.endpoint.pk] = tuple(
            _cell(summary, metric, name, counts.get(metric.value), language)
            for metric, name in zip(SHOWN, names, strict=True)
        )
    return cells


def newest(metric: Metric, summaries: Iterable[Summary]) -> dict[int, Rate]:
    """The newest rate of one metric by profile, for as many as there are: what a list sorts by."""
    profiles = [summary.endpoint.profile_id for summary in summaries]
    runs = RUNS if metric is Metric.AVAILABILITY else 1
    wanted = {"profiles": profiles, "metrics": [metric.value], "runs": runs}
    return {pk: metric_rate(metric, trials, bad) for pk, trials, bad in rows(_NEWEST, wanted)}


def _counts(profiles: list[int]) -> dict[int, dict[str, Counts]]:
    wanted = {"profiles": profiles, "metrics": [metric.value for metric in SHOWN], "runs": RUNS}
    found: dict[int, dict[str, Counts]] = {}
    for profile, name, trials, failures in rows(_LAST, wanted):
        found.setdefault(profile, {})[name] = Counts(tuple(trials), tuple(failures))
    return found


def _cell(
    summary: Summary, metric: Metric, name: str, counts: Counts | None, language: str
) -> Cell:
    status = _status(summary, metric, counts) if counts else Status.WAITING
    return Cell(name, status.value, _drawn(language, metric, status, counts or Counts()))


def _status(summary: Summary, metric: Metric, counts: Counts) -> Status:
    """As bad as its incident; without one and with a baseline it is as it always was."""
    watch = summary.condition
    open_at = [severity for each, severity in watch.incidents if each is metric]
    if metric in watch.below_gate or Severity.S3 in open_at:
        return Status.FAILING
    if open_at:
        return Status.DEGRADED
    is_judged = metric is not Metric.AVAILABILITY and watch.known is not BaselineState.NONE
    return Status.HEALTHY if is_judged else rate_status(_rate(metric, counts))


# The same figures look the same in every row, and again whenever somebody looks.
@lru_cache(maxsize=4096)
def _drawn(language: str, metric: Metric, status: Status, counts: Counts) -> SafeString:
    if not counts.trials:
        words = _("{name}: no data.").format(name=metric_name(metric))
        return render_to_string("fleet/_fleet_cell.html", {"words": words})
    pairs = zip(counts.trials, counts.failures, strict=True)
    spark = sparkline([metric_rate(metric, trials, failures) for trials, failures in pairs], RUNS)
    rate = _rate(metric, counts)
    context = {"rate": rate, "spark": spark, "words": _words(metric, status, rate, spark)}
    return render_to_string("fleet/_fleet_cell.html", context)


def _rate(metric: Metric, counts: Counts) -> Rate:
    if metric is Metric.AVAILABILITY:
        # One run asks too little to say how often an endpoint answers.
        return metric_rate(metric, sum(counts.trials), sum(counts.failures))
    return metric_rate(metric, counts.trials[-1], counts.failures[-1])


def _words(metric: Metric, status: Status, rate: Rate, spark: Sparkline) -> str:
    """For whoever points at the cell, moves to it by keys or has it read aloud."""
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


# A chart's index has them in order, so that each costs one step down and as many to the side.
_OF = """
FROM unnest(%(profiles)s::bigint[]) p (id) CROSS JOIN unnest(%(metrics)s::text[]) m (name)
CROSS JOIN LATERAL (
    SELECT trials, failures, finished_at FROM dashboard_runmetric
    WHERE profile_id = p.id AND metric = m.name
    ORDER BY finished_at DESC LIMIT %(runs)s) r
GROUP BY p.id, m.name
"""
_LAST = f"""
SELECT p.id, m.name, array_agg(r.trials ORDER BY r.finished_at),
    array_agg(r.failures ORDER BY r.finished_at)
{_OF}"""
_NEWEST = f"SELECT p.id, sum(r.trials), sum(r.failures) {_OF}"
