"""F5, the database's clock jumps: `python -m benchmarks.faults.stopwatch`.

A Postgres of its own runs under libfaketime (`apt install faketime`); its clock jumps a day ahead
and two days back while workers are busy with 24 endpoints. Waits are 600 times shorter than
registered, so a TTL of 30 minutes is 3 seconds.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from benchmarks.faults.fault_table import Missing, Report, clock, main, scratch, wait_for
from tests.faults import database_faults
from tests.faults.invariants import ALWAYS, leases_follow_each_other, overdue
from tests.faults.recording_vendor import running_vendor
from tests.faults.row_watch import Watch
from tests.faults.servers import running_servers
from tests.faults.stack import Stack

LIBRARY = "libfaketime.so.1"
FOLDERS = ("/usr/lib", "/usr/local/lib", "/opt/homebrew/lib")
CAP = 4
# Enough for every endpoint to run on a small machine; a TTL is 3 seconds.
RECOVERED_SECONDS = 180.0
JUMPS = {"one day ahead": "+1d", "one day back from the true time": "-1d", "the true time": "+0"}


def run() -> int:
    """Jump, wait for every endpoint after each jump, check all invariants."""
    report = Report()
    handle, name = tempfile.mkstemp(prefix="toolgauge-clock-")
    os.close(handle)
    jumps = Path(name)
    jumps.write_text("+0\n")
    jumps.chmod(0o644)  # Postgres may run as another user
    faked = {
        "LD_PRELOAD": str(_library()),
        "FAKETIME_TIMESTAMP_FILE": str(jumps),
        "FAKETIME_NO_CACHE": "1",
        # Waits and timeouts use the monotonic clock, which does not jump.
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    try:
        with (
            running_vendor() as vendor,
            running_servers(vendor, postgres_env=faked) as servers,
            scratch(servers, vendor) as stack,
            Watch(stack.url, cap=CAP) as watch,
        ):
            _start_workers(stack)
            for name, jump in JUMPS.items():
                _jump_clock(report, stack, jumps, name, jump)
            # That check orders attempts by time, and time went back here.
            checks = tuple(check for check in ALWAYS if check is not leases_follow_each_other)
            return report.finish(stack, watch, checks)
    finally:
        jumps.unlink()


def _start_workers(stack: Stack) -> None:
    database_faults.speed_up_clock(stack)
    stack.wake(24, milliseconds=20, at_once=2)
    cap = {"PROVIDER_RUNS": str(CAP)}
    for name in ("one", "two"):
        stack.worker(name, concurrency=4, env=cap)
    stack.beat("beat", env=cap)


def _jump_clock(report: Report, stack: Stack, file: Path, name: str, jump: str) -> None:
    started = wait_for(lambda: "running" in stack.states(), "runs are under way", 60)
    finished, before = _finished(stack), clock(stack)
    file.write_text(f"{jump}\n")
    report.say(f"the clock jumps to {name}: from {before:%F %T} to {clock(stack):%F %T}")
    report.check("Runs were under way.", started)

    def all_again() -> bool:
        now = _finished(stack)
        return all(now[slug] > number for slug, number in finished.items())

    failure = wait_for(all_again, "every endpoint finishes", RECOVERED_SECONDS)
    report.check("Every endpoint finished a run after the jump.", failure)
    failure = wait_for(lambda: not overdue(stack.url, seconds=1), "no lease is left behind", 30)
    report.check("No lease was left behind.", failure)


def _finished(stack: Stack) -> dict[str, int]:
    """The number of finished runs of each endpoint; counted, because times went back."""
    return dict(
        stack.sql(
            "SELECT e.slug, count(r.id) FROM dashboard_endpoint e LEFT JOIN dashboard_run r"
            " ON r.endpoint_id = e.id AND r.state = 'finished' WHERE e.enabled GROUP BY 1"
        )
    )


def _library() -> Path:
    for folder in FOLDERS:
        for path in sorted(Path(folder).rglob(LIBRARY)):
            return path
    raise Missing(f"{LIBRARY} is needed: apt install faketime")


if __name__ == "__main__":
    sys.exit(main(run))
