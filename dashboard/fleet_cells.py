"""The metrics of the endpoints that a page shows: one query, however long their history is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from dashboard import fleet_columns
from dashboard.charts.sparkline import Sparkline, sparkline
from dashboard.fleet import Summary
from dashboard.fleet_asked import SHOWN
from dashboard.services.statements import rows
from dashboard.templatetags.health import percent
from health.detector import Known
from health.metrics import Rate, rate_of
from health.severity import Severity
from health.status import Status, status_of_rate
from health.wording import say
from health.words import NAMES
from probes.attempts import Metric

# The last runs that a cell draws.
RUNS = 12


@dataclass(frozen=True, slots=True)
class Cell:
    """A metric of an endpoint: its last value, its last runs in small, and all of it in words."""

    metric: Metric
    status: Status
    rate: Rate | None
    spark: Sparkline

    @property
    def kind(self) -> str:
        return self.status.value

    @property
    def short(self) -> str:
        return fleet_columns.short(self.metric)

    @property
    def value(self) -> str:
        return percent(self.rate.value) if self.rate else ""

    @property
    def fraction(self) -> str:
        return f"{self.rate.count}/{self.rate.trials}" if self.rate else ""

    @property
    def words(self) -> str:
        """For whoever points at it, moves to it by keys or has it read aloud."""
        name, rate = say(NAMES[self.metric]), self.rate
        if rate is None:
            return _("{name}: no data.").format(name=name)
        return _(
            "{name}: {value} ({count} of {trials}, 95 % interval {low} to {high}), {status}. "
            "{runs}."
        ).format(
            name=name,
            value=self.value,
            count=rate.count,
            trials=rate.trials,
            low=percent(rate.low),
            high=percent(rate.high),
            status=say(self.status.value),
            runs=self.spark.label,
        )


def cells_of(summaries: Sequence[Summary]) -> Mapping[int, tuple[Cell, ...]]:
    """A cell a metric for each endpoint, by the endpoint's id."""
    found = _measured([summary.endpoint.profile_id for summary in summaries])
    return {
        summary.endpoint.pk: tuple(
            _cell(summary, metric, found.get((summary.endpoint.profile_id, metric), ()))
            for metric in SHOWN
        )
        for summary in summaries
    }


def newest(metric: Metric, summaries: Iterable[Summary]) -> dict[int, Rate]:
    """The newest rate of one metric by profile, for as many as there are: what a list sorts by."""
    profiles = [summary.endpoint.profile_id for summary in summaries]
    runs = RUNS if metric is Metric.AVAILABILITY else 1
    wanted = {"profiles": profiles, "metrics": [metric.value], "runs": runs}
    return {pk: rate_of(metric, trials, bad) for pk, trials, bad in rows(_NEWEST, wanted)}


def _measured(profiles: list[int]) -> dict[tuple[int, Metric], list[Rate]]:
    """The last runs of each metric of each profile, the oldest first."""
    wanted = {"profiles": profiles, "metrics": [metric.value for metric in SHOWN], "runs": RUNS}
    return {
        (profile, metric := Metric(name)): [
            rate_of(metric, of, bad) for of, bad in zip(trials, failures, strict=True)
        ]
        for profile, name, trials, failures in rows(_LAST, wanted)
    }


def _cell(summary: Summary, metric: Metric, rates: Sequence[Rate]) -> Cell:
    if not rates:
        return Cell(metric, Status.WAITING, None, sparkline([], RUNS))
    # One run asks too little to say how often an endpoint answers.
    rate = _together(rates) if metric is Metric.AVAILABILITY else rates[-1]
    return Cell(metric, _status(summary, metric, rate), rate, sparkline(rates, RUNS))


def _together(rates: Sequence[Rate]) -> Rate:
    trials, failures = sum(r.trials for r in rates), sum(r.failures for r in rates)
    return Rate(trials, failures, rates[0].good)


def _status(summary: Summary, metric: Metric, rate: Rate) -> Status:
    """As bad as its incident; without one and with a baseline it is as it always was."""
    watch = summary.condition
    open_at = [severity for each, severity in watch.incidents if each is metric]
    if metric in watch.below_gate or Severity.S3 in open_at:
        return Status.FAILING
    if open_at:
        return Status.DEGRADED
    is_judged = metric is not Metric.AVAILABILITY and watch.known is not Known.NONE
    return Status.HEALTHY if is_judged else status_of_rate(rate)


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
