"""The product of one test: a database, a broker, workers and beats, with short intervals."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any, LiteralString

import psycopg

from launcher import ports
from tests.faults.processes import ProcessGroup, signal_one
from tests.faults.recording_vendor import Vendor
from tests.faults.servers import NAMES, TEMPLATE, Servers, manage

QUICK = {
    "RUN_LEASE": "2s",
    "RUN_HEARTBEAT": "0.4s",
    "RUN_RETRY_AFTER": "0.1s",
    "RUN_RING_AGAIN": "1s",
    "SCHEDULE_EVERY": "0.4s",
    "PROVIDER_RUNS": "8",
}
LEASE_SECONDS = 2.0
# For tests without kills: no lease expires, however busy the machine is.
PATIENT = {"RUN_LEASE": "60s", "RUN_RING_AGAIN": "30s"}
NOTHING: Mapping[str, str] = MappingProxyType({})
_numbers = count(1)


class Stack:
    """Everything that a fault test needs, on servers that it can break."""

    def __init__(self, servers: Servers, vendor: Vendor, folder: Path, database: str) -> None:
        self.servers = servers
        self.vendor = vendor
        self.folder = folder
        self.url = servers.cluster.url(database)
        self.env = {**servers.environment(database), **QUICK}
        self.groups: list[ProcessGroup] = []
        self._session: psycopg.Connection[tuple[Any, ...]] | None = None

    def wake(self, number: int, *, milliseconds: int = 30, at_once: int = 1) -> list[str]:
        """Make that many endpoints due, with this concurrency and this answer time."""
        names = NAMES[:number]
        for name in names:
            self.vendor.set_pace(name, milliseconds=milliseconds)
        self.sql(
            "UPDATE dashboard_endpoint SET enabled = true, max_concurrency = %s,"
            " next_due_at = statement_timestamp() WHERE slug = ANY(%s)",
            at_once,
            names,
        )
        return names

    def worker(
        self,
        name: str,
        *,
        concurrency: int = 1,
        prefix: Sequence[str] = (),
        env: Mapping[str, str] = NOTHING,
    ) -> ProcessGroup:
        """Start a real Celery worker with a prefork pool and its own timer."""
        arguments = ["worker", "--concurrency", str(concurrency), "--hostname", f"{name}@faults"]
        # Workers that synchronise at the start take seconds for it.
        arguments += ["--without-mingle", "--without-gossip"]
        return self._start(name, arguments, prefix, env)

    def beat(self, name: str, *, env: Mapping[str, str] = NOTHING) -> ProcessGroup:
        """Start a real Celery beat."""
        schedule = str(self.folder / f"{name}-schedule")
        return self._start(name, ["beat", "--schedule", schedule, "--pidfile", ""], (), env)

    def manage(self, *arguments: str) -> None:
        """Run a management command on this database in a separate process."""
        manage(self.env, *arguments)

    def python(self, code: str) -> None:
        """Run a few lines with Django set up, in a separate process."""
        self.manage("shell", "--verbosity", "0", "-c", code)

    def sql(self, statement: LiteralString, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a statement, run in its own transaction."""
        try:
            return self._sql(statement, values)
        except psycopg.OperationalError:
            # The server was restarted meanwhile; a new session reaches it.
            self._session = None
            return self._sql(statement, values)

    def _sql(self, statement: LiteralString, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        if self._session is None:
            self._session = psycopg.connect(self.url, autocommit=True)
        cursor = self._session.execute(statement, values or None)
        return cursor.fetchall() if cursor.description else []

    def value(self, statement: LiteralString, *values: object) -> Any:
        return self.sql(statement, *values)[0][0]

    def states(self) -> list[str]:
        return [row[0] for row in self.sql("SELECT state FROM dashboard_run ORDER BY id")]

    def all_finished(self, number: int) -> bool:
        """Whether there are exactly that many runs, all of them finished."""
        return self.states() == ["finished"] * number

    def attempts(self, name: str = NAMES[0]) -> int:
        """Stored attempts of an endpoint."""
        return int(
            self.value(
                "SELECT count(*) FROM dashboard_attempt a JOIN dashboard_run r ON r.id = a.run_id"
                " JOIN dashboard_endpoint e ON e.id = r.endpoint_id WHERE e.slug = %s",
                name,
            )
        )

    def kill_owner(self, run_id: int) -> bool:
        """SIGKILL the lease owner of a run; False if it is not one of our processes."""
        owner = self.value("SELECT lease_owner FROM dashboard_run WHERE id = %s", run_id)
        return bool(owner and signal_one(owner, signal.SIGKILL, self.groups))

    def database_env(self, port: int, host: str = ports.LOOPBACK) -> dict[str, str]:
        """The environment of a worker that reaches Postgres at another address."""
        own_address = f"{ports.LOOPBACK}:{self.servers.cluster.port}"
        return {"DATABASE_URL": self.url.replace(own_address, f"{host}:{port}")}

    def logs(self) -> str:
        """The ends of all logs, for a failed test."""
        return "\n".join(
            f"--- {group.log.name}\n{group.log.read_text(errors='replace')[-3000:]}"
            for group in self.groups
        )

    def close(self) -> None:
        for group in self.groups:
            group.end()
        if self._session is not None:
            self._session.close()

    def _start(
        self, name: str, arguments: Sequence[str], prefix: Sequence[str], env: Mapping[str, str]
    ) -> ProcessGroup:
        celery = [*prefix, sys.executable, "-m", "celery", "-A", "workers", *arguments]
        log = self.folder / f"{name}.log"
        group = ProcessGroup([*celery, "--loglevel", "INFO"], log, {**self.env, **env})
        self.groups.append(group)
        return group


@contextmanager
def open_stack(servers: Servers, vendor: Vendor, folder: Path) -> Iterator[Stack]:
    """A fresh database and an empty broker; all processes of the test end with it."""
    database = f"test_{next(_numbers)}"
    servers.execute(f"CREATE DATABASE {database} TEMPLATE {TEMPLATE}")
    # Postgres logs sequences 32 numbers ahead and treats a copied one as logged: without a
    # checkpoint a crash would set it back, and fences would be issued twice.
    servers.execute("CHECKPOINT")
    servers.flush()
    stack = Stack(servers, vendor, folder, database)
    try:
        yield stack
    finally:
        stack.close()
        servers.execute(f"DROP DATABASE {database} WITH (FORCE)")


def eventually(condition: Callable[[], object], *, seconds: float = 60, what: str = "") -> None:
    """Wait until the condition holds; the limit only keeps a broken product from hanging."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"still not so after {seconds} s: {what or condition}"
        time.sleep(0.03)
