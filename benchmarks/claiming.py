"""Many endpoints due at once, run by real workers: `python -m benchmarks.claiming`.

The vendor answers at once and the suite has one trial, so that only the run machinery is measured:
schedule, wake-ups, claims, leases, the engine query, attempts, the end of a run.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from contextlib import ExitStack
from datetime import datetime
from typing import LiteralString

from benchmarks.claiming_stack import Stack, open_stack

# Enough slots that no provider is ever full, and the schedule of the demo.
SETTINGS = {"PROVIDER_RUNS": "64", "SCHEDULE_EVERY": "5s"}
PROCESSES = (1, 2, 4, 8)
OLD_RUNS = 1_000_000
SECONDS = 5.0
STALLED_S = 120.0


def main() -> int:
    """Measure and print; 1 if a run was lost or done twice."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.claiming")
    parser.add_argument("--endpoints", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=4, help="processes that carry out runs")
    options = parser.parse_args()
    # The servers must not outlive this process.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with open_stack(**SETTINGS) as stack:
        stack.add_endpoints(options.endpoints)
        faults = _measure_fleet(stack, options.endpoints, options.workers)
        _measure_statements(stack)
    return int(faults > 0)


def _measure_fleet(stack: Stack, endpoints: int, workers: int) -> int:
    """All endpoints become due at one moment; returns the number of lost or duplicate runs."""
    ((due,),) = stack.sql("SELECT statement_timestamp()")
    stack.sql("UPDATE dashboard_endpoint SET next_due_at = %(due)s", due=due)
    with ExitStack() as processes:
        for number, pool in enumerate(_pools(workers)):
            name = f"worker{number}"
            arguments = ("-A", "benchmarks.claiming_worker", "worker", "--concurrency", str(pool))
            worker_options = (
                "--hostname",
                f"{name}@benchmark",
                "--without-mingle",
                "--without-gossip",
            )
            processes.enter_context(
                stack.run_process(name, "-m", "celery", *arguments, *worker_options)
            )
        _wait_for(stack, endpoints)
        wakeups = stack.count_wakeups()
    return _report(stack, due, endpoints, wakeups)


def _pools(workers: int) -> list[int]:
    """Two Celery workers if there is more than one process: they must not collide."""
    return [workers] if workers < 2 else [workers - workers // 2, workers // 2]


def _wait_for(stack: Stack, endpoints: int) -> None:
    """Wait until all runs have ended, or none has for too long."""
    ended, last_change = 0, time.monotonic()
    while ended < endpoints and time.monotonic() - last_change < STALLED_S:
        time.sleep(0.5)
        finished = stack.value("SELECT count(*) FROM dashboard_run WHERE finished_at IS NOT NULL")
        if finished > ended:
            ended, last_change = finished, time.monotonic()


def _report(stack: Stack, due: datetime, endpoints: int, wakeups: int) -> int:
    ((claims, finished, seconds, longest, mean, median_wait),) = stack.sql(_FIGURES, due=due)
    lost = endpoints - stack.value(_SERVED)
    doubled = stack.value(_DOUBLED)
    sys.stdout.write(
        "A suite of one trial, a vendor that answers at once; all else as in production.\n\n"
        "| endpoints due at once | claims a second | finished runs a second | wait: mean "
        "| median | longest | longest / mean | doorbells | lost | doubled |\n"
        "|---|---|---|---|---|---|---|---|---|---|\n"
        f"| {endpoints:,} | {claims / seconds:.0f} | {finished / seconds:.0f} | {mean:.1f} s "
        f"| {median_wait:.1f} s | {longest:.1f} s | {longest / mean:.2f} | {wakeups} "
        f"| {lost} | {doubled} |\n\n"
    )
    sys.stdout.flush()
    return int(lost + doubled)


def _measure_statements(stack: Stack) -> None:
    """Claim, start and finish alone, in several processes, without and with many old runs."""
    stack.sql("TRUNCATE dashboard_run CASCADE")
    rates = {0: _statement_rates(stack)}
    stack.add_old_runs(OLD_RUNS)
    rates[OLD_RUNS] = _statement_rates(stack)
    sys.stdout.write(
        "| processes | runs ended a second, no old runs | a million old runs | ratio |\n"
        "|---|---|---|---|\n"
    )
    for number, young, old in zip(PROCESSES, rates[0], rates[OLD_RUNS], strict=True):
        sys.stdout.write(f"| {number} | {young:.0f} | {old:.0f} | {old / young:.2f} |\n")


def _statement_rates(stack: Stack) -> list[float]:
    rates = []
    for number in PROCESSES:
        stack.queue_runs()
        rates.append(stack.measure_throughput(number, SECONDS))
    return rates


# Over the whole time: from the moment when all became due to the end of the last run.
_FIGURES: LiteralString = """
SELECT sum(claims), count(*) FILTER (WHERE state = 'finished'),
    extract(epoch FROM max(finished_at) - %(due)s)::float,
    max(wait), avg(wait), percentile_cont(0.5) WITHIN GROUP (ORDER BY wait)
FROM (SELECT *, extract(epoch FROM started_at - %(due)s)::float AS wait FROM dashboard_run) r
"""

_SERVED: LiteralString = """
SELECT count(DISTINCT endpoint_id) FROM dashboard_run r
WHERE state = 'finished' AND done = planned AND done = (SELECT count(*) FROM dashboard_attempt a
    WHERE a.run_id = r.id AND a.run_at = r.created_at)
"""

# An endpoint with two runs, or a run whose observations were stored twice.
_DOUBLED: LiteralString = """
SELECT (SELECT count(*) - count(DISTINCT endpoint_id) FROM dashboard_run)
    + (SELECT count(*) FROM (SELECT 1 FROM dashboard_observation GROUP BY run_id
        HAVING count(DISTINCT batch_id) > 1) twice)
"""


if __name__ == "__main__":
    sys.exit(main())
