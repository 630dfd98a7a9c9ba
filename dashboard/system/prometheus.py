"""Prometheus metrics: gauges of the system and of every endpoint, computed per scrape.

The process counts nothing itself, so any web process can respond.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from typing_extensions import override

from dashboard.fleet import queries as fleet
from dashboard.fleet.queries import Fleet
from dashboard.models.people import Teams
from dashboard.system import queries as monitoring
from dashboard.system.state import SystemState
from health.severity import Severity

# The values of the labels, and the value of the metric.
MetricSample = tuple[tuple[str, ...], float | None]


class _Collector(Collector):
    def __init__(self, state: SystemState, endpoints: Fleet) -> None:
        self._state, self._endpoints = state, endpoints

    @override
    def collect(self) -> Iterator[Metric]:
        yield from _schedule_metrics(self._state)
        yield from _last_hour_metrics(self._state)
        yield from _store_metrics(self._state)
        yield from _fleet_metrics(self._state)
        yield from _endpoint_metrics(self._endpoints)


def render_metrics(accept: str, teams: Teams) -> tuple[bytes, str]:
    """The body and its content type, in the format that the Accept header prefers.

    Only endpoints of those teams are named and counted; None is all of them.
    """
    state = monitoring.read_system_state(teams)
    registry = CollectorRegistry()
    registry.register(_Collector(state, fleet.read_fleet(state.at, teams)))
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


def _schedule_metrics(state: SystemState) -> Iterator[Metric]:
    lag = state.scheduler_lag.total_seconds() if state.scheduler_lag else 0
    yield _gauge(
        "scheduler_lag_seconds", "Age of the oldest endpoint that is due and has no run.", lag
    )
    yield _labelled_gauge(
        "duty_last_done_timestamp_seconds",
        "When a recurring duty was last done, by anybody.",
        ["duty"],
        (((duty.replace(" ", "_"),), at.timestamp()) for duty, at in sorted(state.duties.items())),
    )
    yield _labelled_gauge(
        "runs",
        "Runs that are waiting or under way, by state.",
        ["state"],
        (((name,), count) for name, count in state.runs.items()),
    )
    waited = state.waited.total_seconds()
    yield _gauge(
        "oldest_waiting_run_seconds", "How long the oldest run waits for a worker.", waited
    )
    yield _gauge("expired_leases", "Runs whose lease ran out long ago.", state.expired_leases)
    yield _labelled_gauge(
        "provider_runs",
        "Runs of a provider that are under way.",
        ["provider"],
        (((load.provider,), load.under_way) for load in state.providers),
    )
    yield _labelled_gauge(
        "provider_runs_limit",
        "Runs of a provider that may be under way at once.",
        ["provider"],
        (((load.provider,), load.limit) for load in state.providers),
    )
    yield _gauge("workers_alive", "Workers that looked for work lately.", len(state.workers))
    yield _gauge("broker_up", "Whether the broker answers.", state.wake_ups is not None)
    yield _gauge("doorbells_waiting", "Doorbells that nobody has heard yet.", state.wake_ups)


def _last_hour_metrics(state: SystemState) -> Iterator[Metric]:
    hour = state.last_hour
    yield _labelled_gauge(
        "runs_ended_last_hour",
        "Runs that ended in the last hour, by state.",
        ["state"],
        (((name,), hour.ended.get(name, 0)) for name in ("finished", "failed", "abandoned")),
    )
    yield _gauge("run_claims_last_hour", "Claims of those and of the runs under way.", hour.claims)
    yield _gauge("run_takeovers_last_hour", "Claims of them beyond the first.", hour.takeovers)
    yield _gauge("attempts_last_hour", "Attempts of runs that ended.", hour.attempts)
    yield _gauge("attempts_void_last_hour", "Attempts of them without a verdict.", hour.void)


def _store_metrics(state: SystemState) -> Iterator[Metric]:
    store = state.store
    lag = store.rollup_lag.total_seconds() if store.rollup_lag else 0
    yield _gauge("rollup_lag_seconds", "Age of the oldest batch that is not rolled up.", lag)
    yield _gauge("rollup_batches_waiting", "Batches that are not rolled up.", store.batches_waiting)
    yield _gauge("overflow_rows", "Observations whose day had no partition.", store.overflow_rows)
    yield _gauge("database_size_bytes", "Size of the database.", store.database_bytes)
    yield _gauge("partitions_missing", "Partitions not made in time.", len(store.missing))
    yield _labelled_gauge(
        "partitions",
        "Partitions of a table.",
        ["table"],
        (((table.name,), table.partitions) for table in store.tables),
    )
    yield _labelled_gauge(
        "partitions_size_bytes",
        "Size of a table's partitions with their indexes.",
        ["table"],
        (((table.name,), table.size_bytes) for table in store.tables),
    )


def _fleet_metrics(state: SystemState) -> Iterator[Metric]:
    yield _gauge("endpoints", "Registered endpoints.", state.endpoints)
    yield _gauge(
        "endpoints_stale",
        "Endpoints without a verdict for more than twice their time to live.",
        state.stale.count,
    )
    yield _gauge(
        "endpoints_spent_out", "Endpoints with no budget left for today.", state.spent_out.count
    )


def _endpoint_metrics(endpoints: Fleet) -> Iterator[Metric]:
    summaries = endpoints.summaries
    yield _labelled_gauge(
        "endpoint_status",
        "The status that an endpoint has; 1 for the present one.",
        ["endpoint", "status"],
        (((s.endpoint.slug, s.status.value.replace(" ", "_")), 1) for s in summaries),
    )
    yield _labelled_gauge(
        "incidents_open",
        "Open incidents of an endpoint, by severity from 1 to 3.",
        ["endpoint", "severity"],
        (
            ((s.endpoint.slug, str(level.value)), s.condition.severities.count(level))
            for s in summaries
            for level in Severity
            if level in s.condition.severities
        ),
    )
    yield _labelled_gauge(
        "mode_on",
        "Modes that are on, by an incident or by hand.",
        ["endpoint", "mode"],
        (((s.endpoint.slug, mode.value), 1) for s in summaries for mode in s.condition.modes),
    )
    yield _labelled_gauge(
        "endpoint_last_finished_timestamp_seconds",
        "When the last run with a verdict finished.",
        ["endpoint"],
        (((s.endpoint.slug,), s.endpoint.last_finished_s) for s in summaries),
    )
    yield _labelled_gauge(
        "endpoint_next_due_timestamp_seconds",
        "When the next run of an endpoint that is probed on schedule is due.",
        ["endpoint"],
        (((s.endpoint.slug,), s.endpoint.next_due_s) for s in summaries if s.endpoint.enabled),
    )
    yield _labelled_gauge(
        "endpoint_parse_success_ratio",
        "Parse success of the last run; absent where it gave no verdict.",
        ["endpoint"],
        (((s.endpoint.slug,), s.rate.value if s.rate else None) for s in summaries),
    )


def _gauge(name: str, help_: str, value: float | None) -> Metric:
    return _labelled_gauge(name, help_, [], [((), value)])


def _labelled_gauge(
    name: str, help_: str, labels: list[str], samples: Iterable[MetricSample]
) -> Metric:
    """A gauge without the samples that have no value."""
    family = GaugeMetricFamily(f"toolgauge_{name}", help_, labels=labels)
    for values, value in samples:
        if value is not None:
            family.add_metric(list(values), float(value))
    return family
