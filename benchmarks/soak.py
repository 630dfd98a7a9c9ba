"""One hour of `./run`, with endpoints at a short TTL and viewers: `python -m benchmarks.soak`.

Prints memory, rows and files at the start, at half time and at the end as a table.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from psycopg import sql
from typing_extensions import override

from launcher.running_product import find_environment
from launcher.services import ROOT

START_SECONDS = 600.0
# Between two pages of one viewer.
PAUSE_SECONDS = 3.0
# Table, and what its rows are.
TABLES = {
    "run": "runs",
    "attempt": "attempts",
    "evidence": "evidence",
    "observation": "observations",
    "rollup5m": "rollups of five minutes",
    "policyversion": "versions of policies",
    "notice": "notices",
    "auditentry": "audit entries",
    "personsession": "sessions",
}
# What the command line of each process contains.
SERVICES = {
    "web": "config.asgi:application",
    "worker": "workers worker",
    "scheduler": "workers beat",
    "Valkey": "valkey-server",
    "vendors": "cli.main simulate",
}

_REGISTER = """
from datetime import timedelta
from django.contrib.auth.models import User
from django.test import Client
from dashboard.models import Grant
from dashboard.models.people import Role
from dashboard.endpoints.services import endpoints
from probes.secret import Secret
vendors = [
    ("openai", "openai/v1", "sim-steady"), ("openai_responses", "responses/v1", "sim-steady"),
    ("anthropic", "anthropic", "sim-steady"), ("gemini", "gemini", "sim-gemini-3"),
    ("ollama", "ollama", "sim-steady:latest"), ("deepseek", "deepseek/v1", "sim-v4"),
]
for number in range({count}):
    provider, path, model = vendors[number % len(vendors)]
    endpoints.create(
        slug=f"soak-{{number}}", provider=provider, base_url=f"{url}/{{path}}", model=model,
        options={{}}, ttl=timedelta(minutes={ttl}), max_concurrency=4, enabled=True,
        key=Secret("sim-soak"), onboarding_runs=0,
    )
for number in range({viewers}):
    client, person = Client(), User.objects.create_user(f"viewer-{{number}}")
    Grant.objects.create(person=person, role=Role.VIEWER)
    client.force_login(person)
    [cookie] = [morsel for name, morsel in client.cookies.items() if name.endswith("session")]
    print("COOKIE", f"{{cookie.key}}={{cookie.value}}")
"""


@dataclass(frozen=True, slots=True)
class Options:
    minutes: float
    endpoints: int
    viewers: int
    ttl_minutes: float
    port: int
    result: Path | None


@dataclass(frozen=True, slots=True)
class Sample:
    """The product at one moment: memory in MB, rows, and files of the data folder."""

    memory: Mapping[str, float]
    peak_of_pool: float
    rows: Mapping[str, int]
    database_mb: float
    files: int
    files_mb: float
    logs_mb: float


class Product:
    """`./run` on a data folder of its own."""

    def __init__(self, folder: Path, port: int) -> None:
        self.data = folder / "data"
        self.url = f"http://127.0.0.1:{port}"
        self._screen = folder / "screen"
        env = {name: text for name, text in os.environ.items() if not name.endswith("_URL")}
        command = [str(ROOT / "run"), "--port", str(port), "--no-demo"]
        with self._screen.open("wb") as output:
            self._process = subprocess.Popen(
                [*command, "--data-dir", str(self.data)],
                cwd=ROOT,
                env=env,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait_until_running(self) -> None:
        end = time.monotonic() + START_SECONDS
        while "is running at" not in (screen := self._screen.read_text()):
            if self._process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"The product did not start:\n{screen}")
            time.sleep(0.5)

    def environment(self) -> dict[str, str]:
        found = find_environment(self.data, {})
        return {**os.environ, **found, "PUBLIC_URL": self.url}

    def deaths(self) -> int:
        return len(re.findall(r"\bdied\b", self._screen.read_text()))

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(120)
        self._process.kill()
        self._process.wait()

    def processes(self) -> dict[int, str]:
        """The pid and the command line of the supervisor and all its descendants."""
        parents: dict[int, int] = {}
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                stat = (folder / "stat").read_text().rpartition(")")[2].split()
                parents[int(folder.name)] = int(stat[1])
        ours = {self._process.pid}
        while grown := {pid for pid, parent in parents.items() if parent in ours} - ours:
            ours |= grown
        return {pid: _command_line(pid) for pid in ours}


class Viewer(threading.Thread):
    """Loads the fleet, endpoints and their runs, one page after the other."""

    def __init__(
        self, product: Product, cookie: str, slugs: Sequence[str], stop: threading.Event
    ) -> None:
        super().__init__(daemon=True)
        self.statuses: Counter[str] = Counter()
        self.slowest_s = 0.0
        self._product, self._cookie, self._ending = product, cookie, stop
        self._slugs = slugs

    @override
    def run(self) -> None:
        for slug in cycle(self._slugs):
            self._visit("/")
            page = self._visit(f"/endpoints/{slug}/")
            if run := re.search(r'href="(/runs/\d+/)"', page):
                self._visit(run[1])
            if self._ending.is_set():
                return

    def _visit(self, path: str) -> str:
        self._ending.wait(PAUSE_SECONDS)
        request = urllib.request.Request(  # noqa: S310 -- our own server
            self._product.url + path, headers={"Cookie": self._cookie}
        )
        started = time.monotonic()
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
                body: str = answer.read().decode()
                self.statuses[str(answer.status)] += 1
        except urllib.error.HTTPError as exc:
            self.statuses[str(exc.code)] += 1
            return ""
        except OSError as exc:
            self.statuses[type(exc).__name__] += 1
            return ""
        self.slowest_s = max(self.slowest_s, time.monotonic() - started)
        return body


def main(arguments: Sequence[str]) -> int:
    options = _parse_options(arguments)
    folder = Path(tempfile.mkdtemp(prefix="toolgauge-soak-"))
    product = Product(folder, options.port)
    try:
        product.wait_until_running()
        cookies = _register(product, options)
        with _viewers(product, cookies, options.endpoints) as viewers:
            samples = _take_samples(product, options)
        report = _report(options, samples, viewers, product)
    finally:
        product.stop()
        shutil.rmtree(folder, ignore_errors=True)
    print(report)
    if options.result:
        options.result.write_text(report)
    return 0 if all(set(viewer.statuses) == {"200"} for viewer in viewers) else 1


def _parse_options(arguments: Sequence[str]) -> Options:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60, help="after every endpoint was probed")
    parser.add_argument("--endpoints", type=int, default=50)
    parser.add_argument("--viewers", type=int, default=5)
    parser.add_argument("--ttl-minutes", type=float, default=10, help="5 or more")
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--result", type=Path, help="a file for the table")
    return Options(**vars(parser.parse_args(arguments)))


def _register(product: Product, options: Options) -> list[str]:
    """Register endpoints and viewers; return the cookie of each viewer."""
    env = product.environment()
    port = (product.data / "vendors-port").read_text().strip()
    code = _REGISTER.format(
        count=options.endpoints,
        viewers=options.viewers,
        ttl=options.ttl_minutes,
        url=f"http://127.0.0.1:{port}",
    )
    command = [sys.executable, "manage.py", "shell", "--verbosity", "0", "-c", code]
    done = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, check=True)
    return re.findall(r"^COOKIE (.+)$", done.stdout, re.MULTILINE)


@contextlib.contextmanager
def _viewers(product: Product, cookies: Sequence[str], endpoints: int) -> Iterator[list[Viewer]]:
    stop = threading.Event()
    slugs = [f"soak-{number}" for number in range(endpoints)]
    # Each begins with another endpoint.
    viewers = [
        Viewer(product, cookie, slugs[number:] + slugs[:number], stop)
        for number, cookie in enumerate(cookies)
    ]
    for viewer in viewers:
        viewer.start()
    try:
        yield viewers
    finally:
        stop.set()
        for viewer in viewers:
            viewer.join()


def _take_samples(product: Product, options: Options) -> list[Sample]:
    """At the start, when every endpoint was probed once; at half time; at the end."""
    with psycopg.connect(product.environment()["DATABASE_URL"], autocommit=True) as database:
        end = time.monotonic() + 6 * START_SECONDS
        while _value(database, _UNPROBED) and time.monotonic() < end:
            time.sleep(1)
        samples = [_sample(product, database)]
        for _ in range(2):
            time.sleep(options.minutes * 30)
            samples.append(_sample(product, database))
            print(samples[-1], file=sys.stderr, flush=True)
    return samples


def _sample(product: Product, database: psycopg.Connection[Any]) -> Sample:
    processes = product.processes()
    memory = dict.fromkeys((*SERVICES, "Postgres"), 0.0)
    pool: list[float] = []
    for pid, command in processes.items():
        name = next((name for name, mark in SERVICES.items() if mark in command), "")
        name = name or ("Postgres" if "postgres" in command.partition(" ")[0] else "")
        if name:
            memory[name] += _kilobytes(pid, "smaps_rollup", "Pss:") / 1024
        if name == "worker":
            pool.append(_kilobytes(pid, "status", "VmHWM:") / 1024)
    files = [path.stat().st_size for path in product.data.rglob("*") if path.is_file()]
    logs = [path.stat().st_size for path in (product.data / "log").iterdir()]
    return Sample(
        memory=memory,
        peak_of_pool=max(pool, default=0),
        rows={name: _count_rows(database, table) for table, name in TABLES.items()},
        database_mb=_value(database, "SELECT pg_database_size(current_database())") / 1e6,
        files=len(files),
        files_mb=sum(files) / 1e6,
        logs_mb=sum(logs) / 1e6,
    )


def _count_rows(database: psycopg.Connection[Any], table: str) -> int:
    name = sql.Identifier(f"dashboard_{table}")
    row = database.execute(sql.SQL("SELECT count(*) FROM {}").format(name)).fetchone()
    assert row is not None
    return int(row[0])


def _value(database: psycopg.Connection[Any], statement: LiteralString) -> int:
    row = database.execute(statement).fetchone()
    assert row is not None
    return int(row[0])


def _command_line(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return ""


def _kilobytes(pid: int, file: str, field: str) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/{file}").read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1])
    return 0


def _report(
    options: Options, samples: Sequence[Sample], viewers: Sequence[Viewer], product: Product
) -> str:
    lines = [
        f"{options.endpoints} endpoints with a TTL of {options.ttl_minutes:g} min,"
        f" {options.viewers} viewers, {options.minutes:g} min",
        "",
        "| | start | half | end |",
        "|---|---|---|---|",
    ]
    for name in samples[0].memory:
        lines.append(_row(f"{name}, MB", [f"{s.memory[name]:.0f}" for s in samples]))
    lines.append(_row("highest peak of a worker process, MB", _texts(samples, "peak_of_pool")))
    for name in samples[0].rows:
        lines.append(_row(name, [f"{s.rows[name]:,}" for s in samples]))
    for field, name in {
        "database_mb": "database, MB",
        "files": "files in the data folder",
        "files_mb": "their size, MB",
        "logs_mb": "of which logs, MB",
    }.items():
        lines.append(_row(name, _texts(samples, field)))
    statuses = sum((viewer.statuses for viewer in viewers), Counter[str]())
    slowest = max(viewer.slowest_s for viewer in viewers)
    lines += ["", f"Pages: {dict(statuses)}, slowest {slowest:.1f} s. Deaths: {product.deaths()}."]
    return "\n".join(lines) + "\n"


def _texts(samples: Sequence[Sample], field: str) -> list[str]:
    return [f"{getattr(sample, field):,.0f}" for sample in samples]


def _row(name: str, cells: Sequence[str]) -> str:
    return f"| {name} | {' | '.join(cells)} |"


_UNPROBED: LiteralString = """
SELECT count(*) FROM dashboard_endpoint WHERE last_finished_at IS NULL
"""

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
