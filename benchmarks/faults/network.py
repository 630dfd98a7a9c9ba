"""A worker in its own network, cut off from Postgres: `python -m benchmarks.faults.network`.

Two workers, one of them in another network namespace with one line to Postgres and the broker and
another to the model. The first line is down for a minute, in the middle of a run. Needs root and
`ip` (`apt install iproute2`).
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.faults.fault_table import (
    Missing,
    Report,
    clock,
    find_program,
    main,
    scratch,
    wait_for,
)
from tests.faults import database_faults
from tests.faults.invariants import ALWAYS, overdue, starved
from tests.faults.processes import ProcessGroup
from tests.faults.proxy import Cable
from tests.faults.recording_vendor import running_vendor
from tests.faults.row_watch import Watch
from tests.faults.servers import running_servers
from tests.faults.stack import Stack

SECONDS = 60.0
SPACE = "toolgauge-far"
# The line's name, our end of it, the far end.
TO_STORE = ("tgstore", "10.213.77.1", "10.213.77.2")
TO_MODEL = ("tgmodel", "10.213.78.1", "10.213.78.2")
LEASE = {"RUN_LEASE": "10s", "RUN_HEARTBEAT": "2s"}


def run() -> int:
    """Cut for a minute, reconnect, check that nothing was lost or duplicated."""
    report = Report()
    ip = find_program("ip", "iproute2")
    if os.geteuid() != 0:
        raise Missing("Only root may make network namespaces: sudo, or a container of its own")
    with (
        _far_network(ip),
        running_vendor(TO_MODEL[1]) as vendor,
        running_servers(vendor) as servers,
        scratch(servers, vendor) as stack,
        Cable(servers.cluster.port, host=TO_STORE[1]) as store,
        Cable(servers.store.port, host=TO_STORE[1]) as broker,
        Watch(stack.url) as watch,
    ):
        database_faults.speed_up_clock(stack)
        stack.env |= LEASE
        stack.wake(8, milliseconds=400)
        far = _far_worker(ip, stack, store.port, broker.port)
        near = stack.worker("near", concurrency=2)
        _cut_line(report, ip, stack, far)
        report.check("Both workers are still up.", [] if far.is_up() and near.is_up() else "no")
        return report.finish(stack, watch, ALWAYS)


def _cut_line(report: Report, ip: Path, stack: Stack, far: ProcessGroup) -> None:
    report.check("The far worker took runs.", wait_for(lambda: far.has_logged("run ended"), "", 60))
    failure = wait_for(lambda: _held_by(stack, far), "the far worker holds a run", 60)
    report.check("It was in the middle of one.", failure)
    runs = _held_by(stack, far)
    _ip(ip, "link", "set", TO_STORE[0], "down")
    since, started = clock(stack), time.monotonic()
    report.say(f"cut off for {SECONDS:g} s with runs {runs} in its hands")
    failure = wait_for(lambda: not starved(stack.url, since), "every endpoint finishes", SECONDS)
    report.check("Every endpoint finished while one worker was cut off.", failure)
    lost = "SELECT id FROM dashboard_run WHERE id = ANY(%s) AND state <> 'finished'"
    report.check("What it held was finished by the other one.", stack.sql(lost, runs))
    time.sleep(max(0.0, SECONDS - (time.monotonic() - started)))
    ended = far.log.read_text(errors="replace").count("run ended")
    _ip(ip, "link", "set", TO_STORE[0], "up")
    report.say("mended")
    failure = wait_for(
        lambda: far.log.read_text(errors="replace").count("run ended") > ended, "it works", 120
    )
    report.check("The far worker works again.", failure)
    failure = wait_for(lambda: not overdue(stack.url, seconds=1), "no lease is left behind", 60)
    report.check("No lease was left behind.", failure)


def _held_by(stack: Stack, far: ProcessGroup) -> list[int]:
    failure = stack.sql(
        "SELECT id, lease_owner FROM dashboard_run WHERE state = 'running' AND done BETWEEN 1 AND 6"
    )
    return [run for run, owner in failure if _group_of(int(owner.rsplit(":", 1)[1])) == far.pid]


def _group_of(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return 0


def _far_worker(ip: Path, stack: Stack, store_port: int, broker_port: int) -> ProcessGroup:
    broker = urlsplit(stack.env["REDIS_URL"])
    env = stack.database_env(store_port, TO_STORE[1])
    env["REDIS_URL"] = f"redis://:{broker.password}@{TO_STORE[1]}:{broker_port}{broker.path}"
    return stack.worker("far", prefix=[str(ip), "netns", "exec", SPACE], env=env)


@contextmanager
def _far_network(ip: Path) -> Iterator[None]:
    """Another network on this machine, with two lines to ours; both are removed with it."""
    _ip(ip, "netns", "add", SPACE)
    try:
        _ip(ip, "-n", SPACE, "link", "set", "lo", "up")
        for line, ours, theirs in (TO_STORE, TO_MODEL):
            far = f"{line}-far"
            _ip(ip, "link", "add", line, "type", "veth", "peer", "name", far, "netns", SPACE)
            _ip(ip, "addr", "add", f"{ours}/30", "dev", line)
            _ip(ip, "link", "set", line, "up")
            _ip(ip, "-n", SPACE, "addr", "add", f"{theirs}/30", "dev", far)
            _ip(ip, "-n", SPACE, "link", "set", far, "up")
        yield
    finally:
        for line, _, _ in (TO_STORE, TO_MODEL):
            subprocess.run([ip, "link", "del", line], check=False, capture_output=True)
        subprocess.run([ip, "netns", "del", SPACE], check=False, capture_output=True)


def _ip(ip: Path, *arguments: str) -> None:
    result = subprocess.run([ip, *arguments], check=False, capture_output=True, text=True)
    if result.returncode:
        raise Missing(f"ip {' '.join(arguments)}: {result.stderr.strip()}")


if __name__ == "__main__":
    sys.exit(main(run))
