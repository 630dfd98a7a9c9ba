"""Dedicated Postgres and Valkey servers, an instant vendor, and the rows to work on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from redis import Redis

from launcher import ports, postgres, valkey
from launcher.datafolder import open_data_folder
from launcher.services import ROOT, product_environment
from launcher.supervisor import StopRequest, Supervisor
from probes.suite import SUITE_VERSION

# Each has its own slots; all use the same wire format.
PROVIDERS = ["deepseek", "kimi", "mistral", "qwen"]


class Stack:
    """The servers, queries on them, and the product's processes."""

    def __init__(self, env: dict[str, str], folder: Path) -> None:
        self.env = env
        self.folder = folder
        self.vendor = ports.free_port()
        self._connection = psycopg.connect(env["DATABASE_URL"], autocommit=True)

    def sql(self, statement: LiteralString, **values: object) -> list[tuple[Any, ...]]:
        cursor = self._connection.execute(statement, values)
        return cursor.fetchall() if cursor.description else []

    def value(self, statement: LiteralString, **values: object) -> Any:
        return self.sql(statement, **values)[0][0]

    def add_endpoints(self, count: int) -> None:
        """Add endpoints that were measured before, none of them due."""
        address = f"http://{ports.LOOPBACK}:{self.vendor}/v1"
        self.sql(_ENDPOINTS, count=count, address=address, providers=PROVIDERS)
        self.sql(_PROFILES)
        self.sql("ANALYZE dashboard_endpoint, dashboard_profile")

    def add_old_runs(self, count: int) -> None:
        """Add this many ended runs."""
        self.sql(_OLD_RUNS, count=count, version=SUITE_VERSION)
        self.sql("VACUUM (ANALYZE) dashboard_run")

    def queue_runs(self) -> None:
        """Queue a run for every endpoint without an open one."""
        self.sql(_QUEUE, version=SUITE_VERSION)
        self.sql("ANALYZE dashboard_run")

    def count_wakeups(self) -> int:
        """The number of messages that were put into Celery's queue so far."""
        stats = Redis.from_url(self.env["REDIS_URL"]).info("commandstats")
        return int(stats.get("cmdstat_lpush", {}).get("calls", 0))

    @contextmanager
    def run_process(self, name: str, *arguments: str) -> Iterator[None]:
        """A Python process that ends with the block."""
        log = (self.folder / f"{name}.log").open("ab")
        child = subprocess.Popen(
            [sys.executable, *arguments], cwd=ROOT, env=self.env, stdout=log, stderr=log
        )
        try:
            yield
        finally:
            child.terminate()
            child.wait(60)
            log.close()

    def measure_throughput(self, count: int, seconds: float) -> float:
        """The runs per second that this many processes end together."""
        children = [self._start_finisher() for _ in range(count)]
        for child in children:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
        for child in children:
            assert child.stdin is not None
            child.stdin.write(f"{seconds}\n")
            child.stdin.flush()
        return sum(float(child.communicate()[0]) for child in children)

    def _start_finisher(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "benchmarks.claiming_statements"],
            cwd=ROOT,
            env=self.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )


@contextmanager
def open_stack(**settings: str) -> Iterator[Stack]:
    """Servers with an empty database; everything is removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="toolgauge-claiming-"))
    supervisor = Supervisor(lambda _line: None, StopRequest())
    try:
        home = open_data_folder(folder)
        cluster = postgres.open_cluster(home, durable=False)
        store = valkey.open_store(home, durable=False)
        supervisor.bring_up(
            [
                postgres.postgres_service(cluster, home.logs / "postgres.log"),
                valkey.valkey_service(store, home.logs / "valkey.log"),
            ]
        )
        postgres.ensure_database(cluster)
        servers = {"DATABASE_URL": cluster.url(), "REDIS_URL": store.url()}
        env = {
            **os.environ,
            **product_environment(home),
            **servers,
            "LOG_LEVEL": "WARNING",
            **settings,
        }
        migrate = [sys.executable, "manage.py", "migrate", "--no-input", "--verbosity", "0"]
        subprocess.run(migrate, cwd=ROOT, env=env, check=True)
        stack = Stack(env, folder)
        with stack.run_process("vendor", "-m", "benchmarks.claiming_vendor", str(stack.vendor)):
            yield stack
    finally:
        supervisor.stop_all()
        shutil.rmtree(folder, ignore_errors=True)


_ENDPOINTS: LiteralString = """
INSERT INTO dashboard_endpoint (slug, provider, base_url, model, options, ttl, max_concurrency,
    enabled, next_due_at, next_trigger, fruitless, onboarding_left)
SELECT 'e' || n, (%(providers)s::text[])[1 + n %% 4], %(address)s, 'instant', '{}',
    interval '6 hours', 4, true, statement_timestamp() + interval '6 hours', 'ttl', 0, 0
FROM generate_series(1, %(count)s) n
"""

_PROFILES: LiteralString = """
INSERT INTO dashboard_profile (endpoint_id, epoch, provider, model, endpoint_url,
    chat_template_hash, key_hash, fingerprint, in_force)
SELECT id, 1, provider, model, base_url, '', '', '{}', true
FROM dashboard_endpoint
"""

_OLD_RUNS: LiteralString = """
INSERT INTO dashboard_run (endpoint_id, profile_id, provider, key_epoch, trigger, due_at, suite,
    suite_version, seed, planned, done, passed, claims, state, created_at, not_before,
    dispatched_at, started_at, finished_at)
SELECT p.endpoint_id, p.id, p.provider, 1, 'ttl', at, 'light', %(version)s, n, 1, 1, 1, 1,
    'finished', at, at, at, at, at
FROM generate_series(1, %(count)s) n
JOIN dashboard_profile p ON p.id = (SELECT min(id) FROM dashboard_profile)
    + n %% (SELECT count(*) FROM dashboard_profile),
    LATERAL (SELECT statement_timestamp() - (1 + %(count)s - n) * interval '20 seconds') AS t (at)
"""

_QUEUE: LiteralString = """
INSERT INTO dashboard_run (endpoint_id, profile_id, provider, key_epoch, trigger, due_at, suite,
    suite_version, seed, planned)
SELECT p.endpoint_id, p.id, p.provider, 1, 'ttl', statement_timestamp(), 'light', %(version)s, 1, 1
FROM dashboard_profile p WHERE NOT EXISTS (SELECT 1 FROM dashboard_run r
    WHERE r.endpoint_id = p.endpoint_id AND r.finished_at IS NULL OFFSET 0)
"""
