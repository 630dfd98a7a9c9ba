"""What Prometheus reads: gauges of the system and of every endpoint, made anew for each scrape.

Nothing is counted in this process, so it does not matter which of several answers.
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
from dashboard.system import queries as monitoring
from dashboard.system.state import SystemState
from health.severity import Severity

# A value with the values of its labels.
Sample = tuple[tuple[str, ...], float | None]


class _Collector(Collector):
    def __init__(self, state: SystemState, endpoints: Fleet) -> None:
        self._state, self._endpoints = state, endpoints

    @override
    def collect(self) -> Iterator[Metric]:
        yield from _of_schedule(self._state)
        yield from _of_last_hour(self._state)
        yield from _of_store(self._state)
        yield from _of_fleet(self._state)
        yield from _of_endpoints(self._endpoints)


def page(accept: str) -> tuple[bytes, str]:
    """The page and its content type, in the format that the reader prefers."""
    state = monitoring.state(None)
    registry = CollectorRegistry()
    registry.register(_Collector(state, fleet.read_fleet(state.at, None)))
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


def _of_schedule(state: SystemState) -> Iterator[Metric]:
    lag = state.scheduler_lag.total_seconds() if state.scheduler_lag else 0
    yield _one(
        "scheduler_lag_seconds", "Age of the oldest endpoint that is due and has no run.", lag
    )
    yield _many(
        "duty_last_done_timestamp_seconds",
        "When a recurring duty was last done, by anybody.",
        ["duty"],
        (((duty.replace(" ", "_"),), at.timestamp()) for duty, at in sorted(state.duties.items())),
    )
    yield _many(
        "runs",
        "Runs that are waiting or under way, by state.",
        ["state"],
        (((name,), count) for name, count in state.runs.items()),
    )
    waited = state.waited.total_seconds()
    yield _one("oldest_waiting_run_seconds", "How long the oldest run waits for a worker.", waited)
    yield _one("expired_leases", "Runs whose lease ran out long ago.", state.expired_leases)
    yield _many(
        "provider_runs",
        "Runs of a provider that are under way.",
        ["provider"],
        (((load.provider,), load.under_way) for load in state.providers),
    )
    yield _many(
        "provider_runs_limit",
        "Runs of a provider that may be under way at once.",
        ["provider"],
        (((load.provider,), load.limit) for load in state.providers),
    )
    yield _one("workers_alive", "Workers that looked for work lately.", len(state.workers))
    yield _one("broker_up", "Whether the broker answers.", state.doorbells is not None)
    yield _one("doorbells_waiting", "Doorbells that nobody has heard yet.", state.doorbells)


def _of_last_hour(state: SystemState) -> Iterator[Metric]:
    hour = state.last_hour
    yield _many(
        "runs_ended_last_hour",
        "Runs that ended in the last hour, by state.",
        ["state"],
        (((name,), hour.ended.get(name, 0)) for name in ("finished", "failed", "abandoned")),
    )
    yield _one("run_claims_last_hour", "Claims of those and of the runs under way.", hour.claims)
    yield _one("run_takeovers_last_hour", "Claims of them beyond the first.", hour.takeovers)
    yield _one("attempts_last_hour", "Attempts of runs that ended.", hour.attempts)
    yield _one("attempts_void_last_hour", "Attempts of them without a verdict.", hour.void)


def _of_store(state: SystemState) -> Iterator[Metric]:
    store = state.store
    lag = store.rollup_lag.total_seconds() if store.rollup_lag else 0
    yield _one("rollup_lag_seconds", "Age of the oldest batch that is not rolled up.", lag)
    yield _one("rollup_batches_waiting", "Batches that are not rolled up.", store.batches_waiting)
    yield _one("overflow_rows", "Observations whose day had no partition.", store.overflow_rows)
    yield _one("database_size_bytes", "Size of the database.", store.database_bytes)
    yield _one("partitions_missing", "Partitions not made in time.", len(store.missing))
    yield _many(
        "partitions",
        "Partitions of a table.",
        ["table"],
        (((table.name,), table.partitions) for table in store.tables),
    )
    yield _many(
        "partitions_size_bytes",
        "Size of a table's partitions with their indexes.",
        ["table"],
        (((table.name,), table.size_bytes) for table in store.tables),
    )


def _of_fleet(state: SystemState) -> Iterator[Metric]:
    yield _one("endpoints", "Registered endpoints.", state.endpoints)
    yield _one(
        "endpoints_stale",
        "Endpoints without a verdict for more than twice their time to live.",
        state.stale.count,
    )
    yield _one(
        "endpoints_spent_out", "Endpoints with no budget left for today.", state.spent_out.count
    )


def _of_endpoints(found: Fleet) -> Iterator[Metric]:
    every = found.summaries
    yield _many(
        "endpoint_status",
        "The status that an endpoint has; 1 for the present one.",
        ["endpoint", "status"],
        (((s.endpoint.slug, s.status.value.replace(" ", "_")), 1) for s in every),
    )
    yield _many(
        "incidents_open",
        "Open incidents of an endpoint, by severity from 1 to 3.",
        ["endpoint", "severity"],
        (
            ((s.endpoint.slug, str(level.value)), s.condition.severities.count(level))
            for s in every
            for level in Severity
            if level in s.condition.severities
        ),
    )
    yield _many(
        "mode_on",
        "Modes that are on, by an incident or by hand.",
        ["endpoint", "mode"],
        (((s.endpoint.slug, mode.value), 1) for s in every for mode in s.condition.modes),
    )
    yield _many(
        "endpoint_last_finished_timestamp_seconds",
        "When the last run with a verdict finished.",
        ["endpoint"],
        (((s.endpoint.slug,), s.endpoint.last_finished_s) for s in every),
    )
    yield _many(
        "endpoint_next_due_timestamp_seconds",
        "When the next run of an endpoint that is probed on schedule is due.",
        ["endpoint"],
        (((s.endpoint.slug,), s.endpoint.next_due_s) for s in every if s.endpoint.enabled),
    )
    yield _many(
        "endpoint_parse_success_ratio",
        "Parse success of the last run; absent where it gave no verdict.",
        ["endpoint"],
        (((s.endpoint.slug,), s.rate.value if s.rate else None) for s in every),
    )


def _one(name: str, help_: str, value: float | None) -> Metric:
    return _many(name, help_, [], [((), value)])


def _many(name: str, help_: str, labels: list[str], samples: Iterable[Sample]) -> Metric:
    """A gauge; what has no value has no line."""
    family = GaugeMetricFamily(f"toolgauge_{name}", help_, labels=labels)
    for values, value in samples:
        if value is not None:
            family.add_metric(list(values), float(value))
    return family
