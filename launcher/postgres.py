"""An embedded Postgres: initialised, started on loopback, stopped; its data is in one folder."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql

from launcher import ports
from launcher.binaries import postgres_folder, postgres_major
from launcher.datafolder import DataFolder, write_private
from launcher.errors import LaunchError
from launcher.privileges import Identity, give_ownership, unprivileged_identity
from launcher.process import Command
from launcher.service import Service
from launcher.stale_processes import command_line, end_process

NAME = "toolgauge"  # of the role and of the database

SETTINGS = {
    "listen_addresses": ports.LOOPBACK,
    # Socket paths are limited to about a hundred characters, folders are not.
    "unix_socket_directories": "",
    "max_connections": "100",
    "shared_buffers": "128MB",
    "timezone": "UTC",
    "log_timezone": "UTC",
}
# For data that may be lost.
FAST_SETTINGS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Postgres data folder and the parameters of its server."""

    folder: Path
    binaries: Path
    identity: Identity
    port: int
    password: str
    durable: bool = True

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def url(self, database: str = NAME) -> str:
        return f"postgresql://{NAME}:{self.password}@{ports.LOOPBACK}:{self.port}/{database}"


def open_cluster(
    home: DataFolder, *, durable: bool = True, identity: Identity | None = None
) -> Cluster:
    """Return the cluster of a data folder, initialised if needed; stops a leftover server."""
    binaries = postgres_folder()
    folder = home.path / "postgres"
    identity = identity or unprivileged_identity(binaries, folder)
    folder.mkdir(mode=0o700, exist_ok=True)
    give_ownership(folder, identity)
    password = home.password("postgres-password")
    cluster = Cluster(folder, binaries, identity, ports.free_port(), password, durable)
    if cluster.data.exists():
        _check_version(cluster)
        end_leftover(cluster)
    else:
        _initialise(cluster)
    return cluster


def postgres_service(cluster: Cluster, log: Path) -> Service:
    """Return the server as a service for the supervisor."""
    settings = SETTINGS | {"port": str(cluster.port)} | ({} if cluster.durable else FAST_SETTINGS)
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    command = Command(
        argv=(str(cluster.binaries / "postgres"), "-D", str(cluster.data), *options),
        env=_environment(),
        cwd=Path("/"),
        log=log,
        identity=cluster.identity,
        stop_signal=signal.SIGINT,  # fast: ends sessions, writes a checkpoint
        stop_seconds=20.0,
        orphan_signal=signal.SIGINT,
    )
    return Service(
        name="postgres",
        command=command,
        is_ready=lambda _up: _is_reachable(cluster),
        where=f"port {cluster.port}",
        before_start=lambda: end_leftover(cluster),
    )


def ensure_database(cluster: Cluster) -> None:
    """Create the product's database on a running server unless it exists."""
    with psycopg.connect(cluster.url("postgres"), autocommit=True) as connection:
        existing = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [NAME])
        if existing.fetchone() is None:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(NAME)))


def end_leftover(cluster: Cluster) -> None:
    """Stop a server that still runs on this data; remove the pid file of a killed one."""
    pid_file = cluster.data / "postmaster.pid"
    try:
        lines = pid_file.read_text().splitlines()
    except FileNotFoundError:
        return
    pid = int(lines[0]) if lines and lines[0].isdigit() else 0
    if pid and str(cluster.data) in command_line(pid):
        end_process(pid, signal.SIGINT)
    # The pid may belong to another process by now, which Postgres would take for a server.
    pid_file.unlink(missing_ok=True)


def _check_version(cluster: Cluster) -> None:
    theirs = (cluster.data / "PG_VERSION").read_text().strip()
    ours = postgres_major(cluster.binaries)
    if theirs != str(ours):
        raise LaunchError(
            f"The data in {cluster.data} was written by Postgres {theirs}, and this is "
            f"Postgres {ours}. Dump it with Postgres {theirs} and load it into a new folder "
            "(--data-dir), or move it away to begin anew."
        )


def _initialise(cluster: Cluster) -> None:
    """Initialise in a temporary folder and rename it: a partial cluster is never used."""
    draft = cluster.folder / "half-made"
    shutil.rmtree(draft, ignore_errors=True)
    password_file = cluster.folder / "initial-password"
    write_private(password_file, cluster.password)
    if cluster.identity.uid is not None:
        os.chown(password_file, cluster.identity.uid, -1)
    try:
        _run_initdb(cluster, draft, password_file)
    finally:
        password_file.unlink(missing_ok=True)
    draft.rename(cluster.data)


def _run_initdb(cluster: Cluster, folder: Path, password_file: Path) -> None:
    identity = cluster.identity
    options = ["-U", NAME, "-A", "scram-sha-256", f"--pwfile={password_file}", "-E", "UTF8"]
    options += _locale_options(postgres_major(cluster.binaries))
    options += [] if cluster.durable else ["--no-sync"]
    result = subprocess.run(
        [*identity.prefix, str(cluster.binaries / "initdb"), "-D", str(folder), *options],
        cwd="/",
        env=_environment(),
        user=identity.uid,
        group=identity.gid,
        extra_groups=None if identity.uid is None else [],
        start_new_session=True,  # Ctrl-C must reach only us: we then stop in order
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if result.returncode != 0:
        raise LaunchError(
            f"Postgres could not make its data folder {cluster.data}:\n{result.stdout.strip()}\n"
            "Check that the disk has room and that the folder is yours."
        )


def _locale_options(major: int) -> list[str]:
    """A locale of the C library would break indexes when the library is updated."""
    if major >= 17:
        return ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    return ["--locale=C"]


def _is_reachable(cluster: Cluster) -> bool:
    try:
        psycopg.connect(cluster.url("postgres"), connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


def _environment() -> dict[str, str]:
    """Only what a server needs: no secrets of ours, and no PG* settings of the caller's shell."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
