"""A Valkey of our own (the Redis protocol): started on loopback with a password, stopped."""

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
    """A Valkey data folder together with what is needed to start a server on it."""

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
    """Return the store of a data folder, its configuration written; stops a leftover server."""
    folder = home.path / "valkey"
    folder.mkdir(mode=0o700, exist_ok=True)
    store = Store(folder, valkey_server(), ports.free_port(), secrets.token_urlsafe(24), durable)
    end_leftover(store)
    # The password goes into a file because every user of the machine can read command lines.
    write_private(store.config, _configuration(store))
    return store


def valkey_service(store: Store, log: Path) -> Service:
    """Return the server as a part for the supervisor."""
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
        is_ready=lambda _up: _answers(store),
        where=f"port {store.port}",
        before_start=lambda: end_leftover(store),
    )


def end_leftover(store: Store) -> None:
    """Stop a server that still runs on this folder, and forget one that was killed."""
    try:
        noted = store.pid_file.read_text().strip()
    except FileNotFoundError:
        return
    if noted.isdigit() and str(store.config) in command_line(int(noted)):
        end_process(int(noted), signal.SIGTERM)
    store.pid_file.unlink(missing_ok=True)


def _configuration(store: Store) -> str:
    settings = {
        "bind": ports.LOOPBACK,
        "port": str(store.port),
        "requirepass": store.password,
        "dir": _quoted(store.folder),
        "pidfile": _quoted(store.pid_file),
        "appendonly": "yes" if store.durable else "no",
        "save": '""',
        # Messages must never be thrown away to make room.
        "maxmemory-policy": "noeviction",
        # Keeps the path of this file in the command line, by which a leftover is known.
        "set-proc-title": "no",
        "daemonize": "no",
    }
    return "".join(f"{name} {value}\n" for name, value in settings.items())


def _quoted(path: Path) -> str:
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def _answers(store: Store) -> bool:
    once = Retry(NoBackoff(), 0)  # we are asked again soon enough
    client = redis.Redis.from_url(store.url(), retry=once, socket_timeout=2)
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False
    finally:
        client.close()
