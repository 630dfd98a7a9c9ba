"""Many endpoints due at once, carried out by real workers: `python -m benchmarks.claiming`.

The vendor answers at once and the suite has one trial, so that what is measured is the machine of
runs: schedule, doorbells, claims, leases, the look at the engine, attempts, the end of a run.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from contextlib import ExitStack
from datetime import datetime
from typing import LiteralString

from benchmarks.claiming_stack import Stack, stack

# Places enough that no provider is ever full, and looks around as often as a demo has them.
SETTINGS = {"PROVIDER_RUNS": "64", "SCHEDULE_EVERY": "5s"}
PROCESSES = (1, 2, 4, 8)
OLD_RUNS = 1_000_000
SECONDS = 5.0
STALLED_S = 120.0


def main() -> int:
    """Measure and print; 1 where a run was lost or done twice."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.claiming")
    parser.add_argument("--endpoints", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=4, help="processes that carry out runs")
    asked = parser.parse_args()
    # Whoever ends us must not leave the servers behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with stack(**SETTINGS) as made:
        made.register(asked.endpoints)
        faults = _fleet(made, asked.endpoints, asked.workers)
        _statements(made)
    return int(faults > 0)


def _fleet(made: Stack, endpoints: int, workers: int) -> int:
    """All endpoints fall due at one moment; returns how many runs were lost or doubled."""
    ((due,),) = made.sql("SELECT statement_timestamp()")
    made.sql("UPDATE dashboard_endpoint SET next_due_at = %(due)s", due=due)
    with ExitStack() as processes:
        for number, pool in enumerate(_pools(workers)):
            name = f"worker{number}"
            words = ("-A", "benchmarks.claiming_worker", "worker", "--concurrency", str(pool))
            quiet = ("--hostname", f"{name}@benchmark", "--without-mingle", "--without-gossip")
            processes.enter_context(made.running(name, "-m", "celery", *words, *quiet))
        _wait_for(made, endpoints)
        doorbells = made.doorbells()
    return _report(made, due, endpoints, doorbells)


def _pools(workers: int) -> list[int]:
    """Two Celery workers wherever there is more than one process: they must not collide."""
    return [workers] if workers < 2 else [workers - workers // 2, workers // 2]


def _wait_for(made: Stack, endpoints: int) -> None:
    """Until all have ended, or nothing has ended for so long that nothing will."""
    ended, since = 0, time.monotonic()
    while ended < endpoints and time.monotonic() - since < STALLED_S:
        time.sleep(0.5)
        now = made.value("SELECT count(*) FROM dashboard_run WHERE finished_at IS NOT NULL")
        if now > ended:
            ended, since = now, time.monotonic()


def _report(made: Stack, due: datetime, endpoints: int, doorbells: int) -> int:
    ((claims, finished, seconds, longest, mean, half),) = made.sql(_FIGURES, due=due)
    lost = endpoints - made.value(_SERVED)
    doubled = made.value(_DOUBLED)
    sys.stdout.write(
        "A suite of one trial, a vendor that answers at once; all else as in production.\n\n"
        "| endpoints due at once | claims a second | finished runs a second | wait: mean "
        "| median | longest | longest / mean | doorbells | lost | doubled |\n"
        "|---|---|---|---|---|---|---|---|---|---|\n"
        f"| {endpoints:,} | {claims / seconds:.0f} | {finished / seconds:.0f} | {mean:.1f} s "
        f"| {half:.1f} s | {longest:.1f} s | {longest / mean:.2f} | {doorbells} "
        f"| {lost} | {doubled} |\n\n"
    )
    sys.stdout.flush()
    return int(lost + doubled)


def _statements(made: Stack) -> None:
    """Claim, start and finish alone, by several processes, without a past and with a long one."""
    made.sql("TRUNCATE dashboard_run CASCADE")
    rates = {0: _rates(made)}
    made.age(OLD_RUNS)
    rates[OLD_RUNS] = _rates(made)
    sys.stdout.write(
        "| processes | runs ended a second, no old runs | a million old runs | ratio |\n"
        "|---|---|---|---|\n"
    )
    for number, young, old in zip(PROCESSES, rates[0], rates[OLD_RUNS], strict=True):
        sys.stdout.write(f"| {number} | {young:.0f} | {old:.0f} | {old / young:.2f} |\n")


def _rates(made: Stack) -> list[float]:
    rates = []
    for number in PROCESSES:
        made.queue()
        rates.append(made.at_once(number, SECONDS))
    return rates


# Over the whole: from the moment when all fell due to the end of the last run.
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
