"""Latency, tokens and cost of the runs of a window, read from the runs, never from attempts."""

from __future__ import annotations

from datetime import UTC, datetime

from dashboard.charts import run_history, series
from dashboard.charts.figures.measure import RunCost, TokenPrice
from dashboard.core.sql import fetch_rows
from dashboard.core.time_range import TimeWindow
from dashboard.models import Endpoint, Profile, Run
from dashboard.runs.rollups import ORIGIN


def read_run_costs(endpoint: Endpoint, window: TimeWindow) -> list[RunCost]:
    """One per run, oldest first; one per time step if there are many runs."""
    runs = list(
        run_history.ended_runs(endpoint, window)
        .filter(requests__gt=0)
        .select_related("profile")[: run_history.MAX_RUNS + 1]
    )
    if len(runs) > run_history.MAX_RUNS:
        return _step_costs(endpoint, window)
    return [_run_cost(run) for run in reversed(runs)]


def token_price(endpoint: Endpoint) -> TokenPrice | None:
    """None unless both prices are set."""
    if endpoint.price_input is None or endpoint.price_output is None:
        return None
    return TokenPrice(endpoint.price_input, endpoint.price_output, endpoint.currency)


def _run_cost(run: Run) -> RunCost:
    assert run.finished_at is not None
    return RunCost(
        at=run.finished_at,
        epoch=run.key_epoch,
        epoch_since=run.profile.created_at,
        latency_p50_ms=run.latency_p50_ms,
        latency_p95_ms=run.latency_p95_ms,
        input_tokens=run.input_tokens,
        output_tokens=run.output_tokens,
        lost_tokens=run.lost_tokens,
        lost_ms=run.lost_ms,
        run_id=run.pk,
    )


def _step_costs(endpoint: Endpoint, window: TimeWindow) -> list[RunCost]:
    start = run_history.window_start(endpoint, window)
    step = series.step_for(start, window.end, run_history.MAX_STEPS)
    since = dict(Profile.objects.filter(endpoint=endpoint).values_list("epoch", "created_at"))
    parameters = {"endpoint": endpoint.pk, "start": start, "end": window.end}
    records = fetch_rows(_STEP_COSTS, parameters | {"step": step, "origin": ORIGIN})
    return [
        RunCost(
            at=datetime.fromtimestamp(at, UTC),
            epoch=epoch,
            epoch_since=since[epoch],
            latency_p50_ms=p50,
            latency_p95_ms=p95,
            input_tokens=int(used),
            output_tokens=int(made),
            lost_tokens=None if lost is None else int(lost),
            lost_ms=None if lost_ms is None else int(lost_ms),
            runs=count,
            step=step,
        )
        for at, epoch, count, p50, p95, used, made, lost, lost_ms in records
    ]


_STEP_COSTS = """
SELECT EXTRACT(EPOCH FROM date_bin(%(step)s, finished_at, %(origin)s))::bigint, key_epoch,
    count(*), percentile_disc(0.5) WITHIN GROUP (ORDER BY latency_p50_ms),
    percentile_disc(0.5) WITHIN GROUP (ORDER BY latency_p95_ms),
    sum(input_tokens), sum(output_tokens), sum(lost_tokens), sum(lost_ms)
FROM dashboard_run
WHERE endpoint_id = %(endpoint)s AND finished_at >= %(start)s AND finished_at <= %(end)s
    AND requests > 0
GROUP BY 1, 2 ORDER BY 1, 2
"""
