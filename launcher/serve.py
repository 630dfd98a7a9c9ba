"""`toolgauge serve`: the whole product on this machine, until Ctrl-C."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

from launcher import ports, postgres, running_product, services, valkey
from launcher.console import print_line, service_line
from launcher.datafolder import DataFolder, lock_data_folder, open_data_folder
from launcher.disk_watch import DiskWatch
from launcher.errors import LaunchError
from launcher.process import bound_log
from launcher.server_urls import check_broker, check_database
from launcher.service import Service
from launcher.supervisor import StopRequest, StopRequested, Supervisor


def serve(*, port: int, data_dir: Path, demo: bool) -> int:
    """Run until a stop signal; return the exit code."""
    stop = StopRequest()
    stop.listen()
    port = port or ports.free_port()
    url = os.environ.get("PUBLIC_URL") or f"http://{ports.LOOPBACK}:{port}"
    try:
        data = open_data_folder(data_dir)
        with lock_data_folder(data, url):
            _check_port(port)
            extra = {"PUBLIC_URL": url, "OWN_SERVERS": _own_servers(port)}
            _run(data, stop, {**extra, "DEMO": "1" if demo else "0"}, port)
    except LaunchError as exc:
        print_line(f"\n{exc}")
        return 2
    return 0


def _own_servers(port: int) -> str:
    """The web server of this start, beside those that the environment names."""
    return ",".join(filter(None, [os.environ.get("OWN_SERVERS"), f"{ports.LOOPBACK}:{port}"]))


def _check_port(port: int) -> None:
    if not ports.is_free(port):
        raise LaunchError(
            f"Port {port} is taken by another program. Choose another with --port, for example "
            f"--port {port + 1}, or --port 0 for any free one."
        )


def _run(data: DataFolder, stop: StopRequest, extra: dict[str, str], port: int) -> None:
    started = time.monotonic()
    for log in data.logs.glob("*.log"):
        bound_log(log)
    supervisor = Supervisor(print_line, stop)
    try:
        env = _bring_up_servers(supervisor, data) | extra
        env |= {"SIMULATOR_URL": f"http://{ports.LOOPBACK}:{_vendors_port(data)}"}
        since = data.vendors_since(begin=extra["DEMO"] == "1")
        vendors, *others = services.product_services(env, data, port, since)
        supervisor.start([vendors])  # at once: it needs no database
        for name, command in services.preparation_commands(env, since):
            supervisor.run_once(name, command)
        with running_product.publish_environment(data, env):
            supervisor.bring_up(others)
            _announce(extra["PUBLIC_URL"], data, time.monotonic() - started)
            supervisor.keep_up(DiskWatch(data.path, print_line).tick)
    except StopRequested:
        print_line("\nStopping. Press Ctrl-C again to kill what is left at once.")
    finally:
        supervisor.stop_all()


def _bring_up_servers(supervisor: Supervisor, data: DataFolder) -> dict[str, str]:
    """Start the servers without a configured URL; return the environment of the services."""
    env = services.product_environment(data)
    _check_given_servers(env)
    servers: list[Service] = []
    cluster = store = None
    if not _is_set("DATABASE_URL", os.environ):
        cluster = postgres.open_cluster(data)
        servers.append(postgres.postgres_service(cluster, data.logs / "postgres.log"))
        env["DATABASE_URL"] = cluster.url()
    if not _is_set("REDIS_URL", os.environ):
        store = valkey.open_store(data)
        servers.append(valkey.valkey_service(store, data.logs / "valkey.log"))
        env["REDIS_URL"] = store.url()
    supervisor.bring_up(servers)
    if cluster:
        postgres.ensure_database(cluster)
    return env


def _check_given_servers(env: Mapping[str, str]) -> None:
    """A server of somebody else's must be there before anything is announced as running."""
    if url := _read_variable("DATABASE_URL", env):
        check_database(url)
    if url := _read_variable("REDIS_URL", env):
        check_broker(url)


def _read_variable(name: str, env: Mapping[str, str]) -> str:
    """The variable, or the content of the file that NAME_FILE names."""
    if value := env.get(name):
        return value
    file = env.get(f"{name}_FILE", "")
    try:
        return Path(file).read_text(encoding="utf-8").strip() if file else ""
    except OSError as exc:
        raise LaunchError(f"{name}_FILE cannot be read: {exc.strerror}.") from exc


def _is_set(name: str, env: Mapping[str, str]) -> bool:
    return bool(env.get(name) or env.get(f"{name}_FILE"))


def _vendors_port(data: DataFolder) -> int:
    port = data.vendors_port()
    if ports.is_free(port):
        return port
    # Not stored: the demo endpoints use the old port, which may be free next time.
    free = ports.free_port()
    detail = f"port {port} is taken, so {free}; demo endpoints on {port} will not answer this time"
    print_line(service_line("vendors", "moved", detail))
    return free


def _announce(url: str, data: DataFolder, seconds: float) -> None:
    print_line(
        f"\nToolgauge is running at {url}  ({seconds:.1f} s)\n"
        f"Logs and data are in {data.path}. Ctrl-C stops everything.\n"
    )
