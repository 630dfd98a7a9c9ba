"""One process that claims, starts and finishes runs as fast as it can, for `benchmarks.claiming`.

It prints "ready", waits for a line with a number of seconds, and prints the runs per second that it
ended; it stops earlier if no runs are left.
"""

from __future__ import annotations

import sys
import time

import django

from benchmarks import claiming_worker  # noqa: F401 -- a suite of one trial


def main() -> None:
    django.setup()
    from dashboard.runs import services as runs
    from dashboard.trust import finish

    def end_one() -> bool:
        lease = runs.claim_run(owner="benchmark")
        if lease and runs.start_run(lease):
            finish.finish_run(lease)
        return lease is not None

    end_one()  # connects, and fills the caches of the first call
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    seconds, started = float(sys.stdin.readline()), time.perf_counter()
    end, ended = started + seconds, 0
    while time.perf_counter() < end and end_one():
        ended += 1
    sys.stdout.write(f"{ended / (time.perf_counter() - started)}\n")


if __name__ == "__main__":
    main()
