"""F13, a pooler that uses another session per transaction: `python -m benchmarks.faults.pooler`.

PgBouncer (`apt install pgbouncer`) in transaction mode, without support for prepared statements and
with fewer sessions than processes. Workers and beats only know the pooler; some are killed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from benchmarks.faults.fault_table import Report, clock, find_program, main, scratch, wait_for
from launcher import ports
from launcher.process import Command, Process
from tests.faults import database_faults
from tests.faults.chaos import Chaos
from tests.faults.invariants import ALWAYS, overdue, starved
from tests.faults.recording_vendor import running_vendor
from tests.faults.row_watch import Watch
from tests.faults.servers import running_servers
from tests.faults.stack import Stack

SESSIONS = 4
KILLS = 30
RECOVERED_SECONDS = 180.0


def run() -> int:
    """Kill workers behind a pooler, wait for every endpoint, check all invariants."""
    report = Report()
    bouncer = find_program("pgbouncer", "pgbouncer")
    with (
        running_vendor() as vendor,
        running_servers(vendor) as servers,
        scratch(servers, vendor) as stack,
        _pooler(bouncer, stack) as port,
        Watch(stack.url) as watch,
    ):
        database_faults.speed_up_clock(stack)
        database_faults.slow_down_start(stack)
        database_faults.slow_down_finish(stack)
        stack.wake(20, milliseconds=20, at_once=2)
        direct, stack.env = stack.env, {**stack.env, **stack.database_env(port)}
        chaos = Chaos(stack, seed=13)
        chaos.start_beats(2)
        chaos.kill_until(KILLS, {})
        chaos.recover()
        since = clock(stack)
        report.say(f"{chaos.kills.total()} kills behind a pooler of {SESSIONS} sessions")
        failure = wait_for(
            lambda: not starved(stack.url, since), "every endpoint finishes", RECOVERED_SECONDS
        )
        report.check("Every endpoint finished a run after the last kill.", failure)
        failure = wait_for(lambda: not overdue(stack.url, seconds=1), "no lease is left behind", 30)
        report.check("No lease was left behind.", failure)
        report.check(f"Never more than {SESSIONS} sessions were used.", _session_excess(stack))
        report.check("No process met an error of the database.", _errors(stack))
        stack.env = direct
        return report.finish(stack, watch, ALWAYS)


@contextmanager
def _pooler(find_program: Path, stack: Stack) -> Iterator[int]:
    """A pooler for one database, reachable only from this machine; it ends with the block."""
    cluster, port = stack.servers.cluster, ports.free_port()
    folder = cluster.folder / "pooler"
    folder.mkdir(mode=0o755, exist_ok=True)
    name = stack.url.rsplit("/", 1)[1]
    target = f"host={ports.LOOPBACK} port={cluster.port} dbname={name} user=toolgauge"
    config = folder / "pgbouncer.ini"
    config.write_text(
        f"[databases]\n{name} = {target} password={cluster.password}\n"
        f"[pgbouncer]\nlisten_addr = {ports.LOOPBACK}\nlisten_port = {port}\nauth_type = any\n"
        f"pool_mode = transaction\ndefault_pool_size = {SESSIONS}\n"
        f"unix_socket_dir =\n{_prepared_statements_setting(find_program)}"
    )
    if cluster.identity.uid is not None:
        os.chown(config, cluster.identity.uid, -1)
    command = Command(
        argv=(str(find_program), str(config)),
        env={"PATH": os.environ.get("PATH", os.defpath)},
        cwd=folder,
        log=stack.folder / "pgbouncer.log",
        identity=cluster.identity,
    )
    process = Process(command)
    try:
        url = stack.database_env(port)["DATABASE_URL"]
        assert not wait_for(lambda: _answers(url), "the pooler answers", 20)
        yield port
    finally:
        process.stop()


def _prepared_statements_setting(find_program: Path) -> str:
    """Newer versions support prepared statements; older ones do not know the setting."""
    result = subprocess.run([find_program, "--version"], capture_output=True, text=True, check=True)
    version = re.search(r"(\d+)\.(\d+)", result.stdout)
    is_newer = version is not None and (int(version[1]), int(version[2])) >= (1, 21)
    return "max_prepared_statements = 0\n" if is_newer else ""


def _answers(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


def _session_excess(stack: Stack) -> str:
    """The number of sessions if there are too many; without this query's and the watch's own."""
    used = stack.value(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        " AND pid <> pg_backend_pid()"
    )
    # The watch has its own session.
    return f"{used - 1}" if used - 1 > SESSIONS else ""


def _errors(stack: Stack) -> str:
    signs = ("prepared statement", "cursor", "does not exist", "ProgrammingError")
    matches = [sign for sign in signs for group in stack.groups if group.has_logged(sign)]
    return ", ".join(sorted(set(matches)))


if __name__ == "__main__":
    sys.exit(main(run))
