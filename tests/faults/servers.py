"""A separate Postgres and Valkey that a test can kill, flush and restart."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import LiteralString

import psycopg
from redis import Redis

from launcher import postgres, valkey
from launcher.datafolder import DataFolder, open_data_folder
from launcher.postgres import Cluster
from launcher.process import Process
from launcher.service import Service
from launcher.services import product_environment
from tests.faults.recording_vendor import Vendor
from tests.preloaded import start_program

Fill = Callable[[str], None]
TEMPLATE = "template_of_tests"
NAMES = [f"e{number}" for number in range(40)]
START_SECONDS = 60

# Disabled until a test enables as many as it needs. One of them is probed, and the others get its
# results: a profile that is known already gets a light suite by TTL, and no other run.
_REGISTER = """
from datetime import timedelta
from django.db import connection
from dashboard.models import Endpoint, Profile
from dashboard.core import partitions
from dashboard.endpoints.services import endpoints
from dashboard.runs import schedule
from workers.probing import drain_queue
partitions.ensure_partitions()
for number, address in enumerate({addresses}):
    endpoints.create(
        slug=f"e{{number}}", provider="openai", base_url=address, model="sim-steady", options={{}},
        ttl=timedelta(minutes=30), max_concurrency=1, enabled=number == 0, key=None,
        onboarding_runs=0,
    )
schedule.schedule_due()
drain_queue(for_s=0)
known = Profile.objects.get(endpoint__slug="e0")
facts = ("fingerprint", "facts_seen", "capabilities", "probe_version", "verified_at")
Profile.objects.update(**{{name: getattr(known, name) for name in facts}})
Endpoint.objects.update(enabled=False, next_trigger="ttl", last_finished_at=None)
with connection.cursor() as cursor:
    cursor.execute(
        "TRUNCATE dashboard_run, dashboard_attempt, dashboard_evidence, dashboard_observation,"
        " dashboard_observationbatch, dashboard_spend RESTART IDENTITY CASCADE"
    )
"""


class Server:
    """One server that can be started, killed and restarted on the same port and data."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._process: Process | None = None

    def start(self) -> None:
        """Start it and wait until it answers; recovery after a crash included."""
        self.service.before_start()
        # Always by the main thread: the kernel ends a child with the thread that started it.
        process = self._process = Process(self.service.command)
        end = time.monotonic() + START_SECONDS
        while not self.service.is_ready(process.seconds):
            assert process.exit_code() is None, f"{self.service.name} ended while it started"
            assert time.monotonic() < end, f"{self.service.name} did not start"
            time.sleep(0.02)

    def kill(self, signum: signal.Signals = signal.SIGKILL) -> None:
        """Signal it and wait until it has exited; it does not restart by itself."""
        assert self._process is not None
        os.kill(self._process.pid, signum)
        while self._process.exit_code() is None:
            time.sleep(0.01)
        self._process.stop()
        self._process = None

    def stop(self) -> None:
        if self._process is not None:
            self._process.stop()
            self._process = None


class Servers:
    """The two servers that all workers of a test share, and the environment that points to them."""

    def __init__(
        self,
        home: DataFolder,
        *,
        postgres_env: Mapping[str, str] | None = None,
        durable_broker: bool = False,
    ) -> None:
        self.home = home
        self.cluster = _cluster(home)
        self.store = valkey.open_store(home, durable=durable_broker)
        service = postgres.postgres_service(self.cluster, home.logs / "postgres.log")
        if postgres_env:
            env = {**service.command.env, **postgres_env}
            service = replace(service, command=replace(service.command, env=env))
        self.postgres = Server(service)
        self.valkey = Server(valkey.valkey_service(self.store, home.logs / "valkey.log"))

    def environment(self, database: str) -> dict[str, str]:
        """The environment that points a process of the product to these servers."""
        return product_environment(self.home) | {
            "DATABASE_URL": self.cluster.url(database),
            "REDIS_URL": self.store.url(),
        }

    def execute(self, statement: LiteralString) -> None:
        with psycopg.connect(self.cluster.url("postgres"), autocommit=True) as connection:
            connection.execute(statement)

    def broker(self) -> Redis:
        return Redis.from_url(self.store.url())

    def flush(self) -> None:
        with self.broker() as client:
            client.flushall()

    def restart_postgres_at_once(self) -> None:
        """Like `pg_ctl -m immediate restart`: all sessions are cut, and the log is replayed."""
        self.postgres.kill(signal.SIGQUIT)
        self.postgres.start()

    def make_template(self, vendor: Vendor, fill: Fill | None) -> None:
        """Make the database that every test copies: migrated, with disabled endpoints."""
        self.execute(f"CREATE DATABASE {TEMPLATE}")
        addresses = [vendor.address(name) for name in NAMES]
        env = self.environment(TEMPLATE)
        if fill is None:
            manage(env, "migrate", "--verbosity", "0")
        else:
            fill(self.cluster.url(TEMPLATE))
        manage(env, "shell", "--verbosity", "0", "-c", _REGISTER.format(addresses=addresses))


def manage(env: Mapping[str, str], *arguments: str) -> None:
    """Run a management command in a separate process."""
    command = [sys.executable, "-m", "manage", *arguments]
    with open(1, "wb", closefd=False) as output:
        assert start_program(command, env, output).wait() == 0, arguments


@contextmanager
def running_servers(
    vendor: Vendor,
    *,
    postgres_env: Mapping[str, str] | None = None,
    fill: Fill | None = None,
    durable_broker: bool = False,
    under: Path | None = None,
) -> Iterator[Servers]:
    """Run both servers with a database to copy; remove them with their data afterwards.

    `fill` makes the tables, given the address of the database; without it, migrations do. `under`
    is the folder of their data folder.
    """
    folder = Path(tempfile.mkdtemp(prefix="toolgauge-faults-", dir=under))
    servers: Servers | None = None
    try:
        servers = Servers(
            open_data_folder(folder), postgres_env=postgres_env, durable_broker=durable_broker
        )
        servers.postgres.start()
        servers.valkey.start()
        servers.make_template(vendor, fill)
        yield servers
    finally:
        if servers is not None:
            servers.valkey.stop()
            servers.postgres.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _cluster(home: DataFolder) -> Cluster:
    """A cluster that is created fast and whose commits survive a crash of the server."""
    cluster = postgres.open_cluster(home, durable=False)
    with (cluster.data / "postgresql.conf").open("a") as config:
        # The machine itself does not crash here, so there is no need to wait for the disk.
        config.write("\nfsync = off\nfull_page_writes = off\nsynchronous_commit = on\n")
    return replace(cluster, durable=True)
