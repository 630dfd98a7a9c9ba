"""An embedded Valkey (Redis protocol): started on loopback with a password, stopped."""

from __future__ import annotations

import os
import secrets
import signal
from dataclasses import dataclass
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from launcher import ports
from launcher.binaries import valkey_server
from launcher.datafolder import DataFolder, write_private
from launcher.process import Command
from launcher.service import Service
from launcher.stale_processes import command_line, end_process


@dataclass(frozen=True, slots=True)
class Store:
    """A Valkey data folder and the parameters of its server."""

    folder: Path
    program: Path
    port: int
    password: str
    durable: bool = True

    @property
    def config(self) -> Path:
        return self.folder / "valkey.conf"

    @property
    def pid_file(self) -> Path:
        return self.folder / "valkey.pid"

    def url(self) -> str:
        return f"redis://:{self.password}@{ports.LOOPBACK}:{self.port}/0"


def open_store(home: DataFolder, *, durable: bool = True) -> Store:
    """Return the store of a data folder, with its configuration; stops a leftover server."""
    folder = home.path / "valkey"
    folder.mkdir(mode=0o700, exist_ok=True)
    store = Store(folder, valkey_server(), ports.free_port(), secrets.token_urlsafe(24), durable)
    end_leftover(store)
    # The password is in a file because every user of the machine can read command lines.
    write_private(store.config, _configuration(store))
    return store


def valkey_service(store: Store, log: Path) -> Service:
    """Return the server as a service for the supervisor."""
    command = Command(
        argv=(str(store.program), str(store.config)),
        env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
        cwd=store.folder,
        log=log,
        orphan_signal=signal.SIGTERM,
    )
    return Service(
        name="valkey",
        command=command,
        is_ready=lambda _up: _is_reachable(store),
        where=f"port {store.port}",
        before_start=lambda: end_leftover(store),
    )


def end_leftover(store: Store) -> None:
    """Stop a server that still runs on this folder; remove the pid file of a killed one."""
    try:
        pid = store.pid_file.read_text().strip()
    except FileNotFoundError:
        return
    if pid.isdigit() and str(store.config) in command_line(int(pid)):
        end_process(int(pid), signal.SIGTERM)
    store.pid_file.unlink(missing_ok=True)


def _configuration(store: Store) -> str:
    settings = {
        "bind": ports.LOOPBACK,
        "port": str(store.port),
        "requirepass": store.password,
        "dir": _quote_path(store.folder),
        "pidfile": _quote_path(store.pid_file),
        "appendonly": "yes" if store.durable else "no",
        "save": '""',
        # Messages must never be evicted.
        "maxmemory-policy": "noeviction",
        # Keeps the path of this file in the command line, which identifies a leftover.
        "set-proc-title": "no",
        "daemonize": "no",
    }
    return "".join(f"{name} {value}\n" for name, value in settings.items())


def _quote_path(path: Path) -> str:
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def _is_reachable(store: Store) -> bool:
    no_retry = Retry(NoBackoff(), 0)  # the supervisor calls again soon
    client = redis.Redis.from_url(store.url(), retry=no_retry, socket_timeout=2)
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False
    finally:
        client.close()
