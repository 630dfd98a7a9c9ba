"""The product's own parts: what runs once before the start, and what is kept running."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from launcher import ports
from launcher.datafolder import DataFolder
from launcher.process import Command
from launcher.service import Service, alive_for

ROOT = Path(__file__).resolve().parent.parent


def product_environment(data: DataFolder) -> dict[str, str]:
    """Return the environment of every part; keys that were not given are made once and kept."""
    env = dict(os.environ)
    env |= {
        "DATA_DIR": str(data.path),
        # The caller's shell may name the settings of another Django project.
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PYTHONUNBUFFERED": "1",
    }
    if not (env.get("SECRET_KEY") or env.get("SECRET_KEY_FILE")):
        env["SECRET_KEY_FILE"] = str(data.secret_key_file())
    if not (env.get("CREDENTIAL_KEYS") or env.get("CREDENTIAL_KEYS_FILE")):
        env["CREDENTIAL_KEYS_FILE"] = str(data.credential_keys_file())
    return env


def preparation_commands(env: Mapping[str, str], since: str | None) -> list[tuple[str, Command]]:
    """Return what runs once before the parts start, its output on the terminal.

    `since` is when the story of the simulated vendors began, if it did.
    """
    return [
        ("migrate", _python(env, None, "manage.py", "migrate", "--no-input", "--verbosity", "0")),
        ("prepare", _python(env, None, "manage.py", "first_start", *_since(since))),
    ]


def product_services(
    env: Mapping[str, str], data: DataFolder, port: int, since: str | None
) -> list[Service]:
    """Return the parts in starting order; they are stopped in reverse."""
    vendors_port = urlsplit(env["SIMULATOR_URL"]).port or 0
    return [
        _vendors(env, data.logs / "vendors.log", vendors_port, since),
        _web(env, data.logs / "web.log", port),
        _worker(env, data.logs / "worker.log"),
        _beat(env, data.logs / "beat.log", data.path / "beat-schedule"),
    ]


def _vendors(env: Mapping[str, str], log: Path, port: int, since: str | None) -> Service:
    options = ["--port", str(port), *_since(since)]
    command = _python(env, log, "-m", "cli.main", "simulate", *options)
    return Service(
        "vendors",
        command,
        is_ready=lambda _up: ports.http_status(port, "/") is not None,
        where=f"port {port}",
    )


def _since(since: str | None) -> list[str]:
    return ["--since", since] if since else []


def _web(env: Mapping[str, str], log: Path, port: int) -> Service:
    address = ["--host", ports.LOOPBACK, "--port", str(port)]
    # Pages that wait for news keep connections open, and must not hold up a stop.
    options = ["--no-access-log", "--no-server-header", "--lifespan", "off"]
    options += ["--timeout-graceful-shutdown", "5"]
    command = _python(
        {**env, "DATABASE_POOL_SIZE": env.get("DATABASE_POOL_SIZE", "8")},
        log,
        *("-m", "uvicorn", "config.asgi:application", *address, *options),
    )
    return Service(
        "web",
        command,
        is_ready=lambda _up: ports.page_status(port, "/readyz", env["PUBLIC_URL"]) == 200,
        where=f"port {port}",
    )


def _worker(env: Mapping[str, str], log: Path) -> Service:
    name = f"worker@{secrets.token_hex(4)}"
    # Orphaned, its main process is killed, and the kernel ends the pool's processes with it. It
    # must not be asked to end: a worker that is still starting may not hear it.
    pool = ["--pool", "prefork", "--concurrency", "2"]
    command = _python(
        env,
        log,
        *("-m", "celery", "-A", "workers", "worker", *pool, "--loglevel", "INFO"),
        *("--hostname", name),
        stop_seconds=25.0,
    )
    return Service("worker", command, is_ready=alive_for(1.5))


def _beat(env: Mapping[str, str], log: Path, schedule: Path) -> Service:
    command = _python(
        env,
        log,
        *("-m", "celery", "-A", "workers", "beat", "--schedule", str(schedule)),
        *("--pidfile", "", "--loglevel", "INFO"),
    )
    return Service("beat", command, is_ready=alive_for(1.5))


def _python(
    env: Mapping[str, str],
    log: Path | None,
    *arguments: str,
    stop_seconds: float = 10.0,
) -> Command:
    return Command(
        argv=(sys.executable, *arguments),
        env=env,
        cwd=ROOT,
        log=log,
        stop_seconds=stop_seconds,
    )
