"""Every metric under watch in small: its last runs as bars, and its last rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dashboard.charts.sparkline import Sparkline, sparkline
from dashboard.models import Endpoint, Run, RunMetric
from dashboard.models.run import ENDED, State
from health.metrics import DIRECTIONS, Good, Rate, rate_of
from health.modes import WATCHED
from health.words import NAMES
from probes.attempts import Metric

RUNS = 30


@dataclass(frozen=True, slots=True)
class Small:
    """One metric; `last` is None where none of the last runs has a trial of it."""

    metric: Metric
    spark: Sparkline
    last: Rate | None

    @property
    def name(self) -> str:
        return NAMES[self.metric]

    @property
    def good(self) -> Good:
        return DIRECTIONS[self.metric]


def read(endpoint: Endpoint) -> list[Small]:
    """The metrics under watch in their order; two queries, however many runs there are."""
    newest = Run.objects.of(endpoint).filter(state__in=ENDED).newest_first()[:RUNS]
    runs = list(newest.values_list("id", "state"))[::-1]
    counted = RunMetric.objects.filter(run__in=[run for run, _ in runs], metric__in=WATCHED)
    rates = {
        (row.run_id, Metric(row.metric)): rate_of(Metric(row.metric), row.trials, row.failures)
        for row in counted
    }
    return [_small(metric, runs, rates) for metric in WATCHED]


def _small(
    metric: Metric, runs: Sequence[tuple[int, str]], rates: Mapping[tuple[int, Metric], Rate]
) -> Small:
    # A run that asked nothing of the metric is no bar; one without any verdict is a hollow one.
    shown = [
        rates.get((run, metric))
        for run, state in runs
        if (run, metric) in rates or state != State.FINISHED
    ]
    measured = [rate for rate in shown if rate]
    return Small(metric, sparkline(shown, RUNS), measured[-1] if measured else None)
