"""The product's own processes: commands that run once before the start, and services."""

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
    """Return the environment of every service; missing keys are created once and kept."""
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
    """Return the commands that run once before the services, with output on the terminal.

    `since` is the start of the simulated vendors' history, if there is one.
    """
    return [
        (
            "migrate",
            _python_command(env, None, "manage.py", "migrate", "--no-input", "--verbosity", "0"),
        ),
        ("prepare", _python_command(env, None, "manage.py", "first_start", *_since_option(since))),
    ]


def product_services(
    env: Mapping[str, str], data: DataFolder, port: int, since: str | None
) -> list[Service]:
    """Return the services in starting order; they are stopped in reverse."""
    vendors_port = urlsplit(env["SIMULATOR_URL"]).port or 0
    return [
        _vendors_service(env, data.logs / "vendors.log", vendors_port, since),
        _web_service(env, data.logs / "web.log", port),
        _worker_service(env, data.logs / "worker.log"),
        _beat_service(env, data.logs / "beat.log"),
    ]


def web_arguments(host: str, port: int) -> list[str]:
    """Return the arguments of Python that serve the pages and the API."""
    # uvicorn would believe X-Forwarded-For of every local peer; TRUSTED_PROXIES decides instead.
    options = ["--no-access-log", "--no-server-header", "--no-proxy-headers", "--lifespan", "off"]
    address = ["--host", host, "--port", str(port)]
    return ["-m", "uvicorn", "config.asgi:application", *address, *options]


def _vendors_service(env: Mapping[str, str], log: Path, port: int, since: str | None) -> Service:
    options = ["--port", str(port), *_since_option(since)]
    command = _python_command(env, log, "-m", "cli.main", "simulate", *options)
    return Service(
        "vendors",
        command,
        is_ready=lambda _up: ports.http_status(port, "/") is not None,
        where=f"port {port}",
    )


def _since_option(since: str | None) -> list[str]:
    return ["--since", since] if since else []


def _web_service(env: Mapping[str, str], log: Path, port: int) -> Service:
    # Pages with open event streams must not delay a stop.
    options = ["--timeout-graceful-shutdown", "5"]
    command = _python_command(
        {**env, "DATABASE_POOL_SIZE": env.get("DATABASE_POOL_SIZE", "8")},
        log,
        *(*web_arguments(ports.LOOPBACK, port), *options),
    )
    return Service(
        "web",
        command,
        is_ready=lambda _up: ports.page_status(port, "/readyz", env["PUBLIC_URL"]) == 200,
        where=f"port {port}",
    )


def _worker_service(env: Mapping[str, str], log: Path) -> Service:
    name = f"worker@{secrets.token_hex(4)}"
    # As an orphan, its main process is killed, and the kernel ends the pool's processes with it.
    # A stop signal would not do: a worker that is still starting may miss it.
    pool = ["--pool", "prefork", "--concurrency", "2"]
    command = _python_command(
        env,
        log,
        *("-m", "celery", "-A", "workers", "worker", *pool, "--loglevel", "INFO"),
        *("--hostname", name),
        stop_seconds=25.0,
    )
    return Service("worker", command, is_ready=alive_for(1.5))


def _beat_service(env: Mapping[str, str], log: Path) -> Service:
    command = _python_command(
        env,
        log,
        # Quiet: what is printed past the logging would end it while the disk is full.
        *("-m", "celery", "--quiet", "-A", "workers", "beat", "--pidfile", ""),
        *("--loglevel", "INFO"),
    )
    return Service("beat", command, is_ready=alive_for(1.5))


def _python_command(
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
