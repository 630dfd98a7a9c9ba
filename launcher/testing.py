"""`./run test` and `./run check`: all checks and tests, with servers of their own."""

from __future__ import annotations

import base64
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from launcher import ports, postgres, valkey
from launcher.console import print_line
from launcher.datafolder import open_data_folder
from launcher.errors import LaunchError
from launcher.services import ROOT
from launcher.steps import Steps
from launcher.supervisor import StopRequest, StopRequested, Supervisor

BIN = Path(sys.executable).parent
MANAGE = (sys.executable, "manage.py")
PYTEST = (sys.executable, "-m", "pytest")

CHECKS_WITHOUT_SERVERS: Mapping[str, Sequence[str]] = {
    "format": (str(BIN / "ruff"), "format", "--check", "."),
    "templates": (str(BIN / "djangofmt"), "--check", "templates"),
    "lint": (str(BIN / "ruff"), "check", "."),
    "layers": (str(BIN / "lint-imports"),),
    "deploy": (*MANAGE, "check", "--deploy", "--fail-level", "WARNING"),
}
# Slow on one core, so it runs in the background.
TYPES = (str(BIN / "mypy"),)
# Test folders that use neither the database nor the broker.
WITHOUT_SERVERS = ("cli", "health", "probes", "simulators", "zoo")
MIGRATIONS_CHECK = (*MANAGE, "makemigrations", "--check", "--dry-run")
# One process per file, since its tests share fixtures. In our order, the slowest files first:
# xdist's own order runs files with one long test last.
BY_FILE = ("--dist", "loadfile", "--no-loadscope-reorder")
# For xdist: pytest's own process, and no other.
ONE_PROCESS = "0"


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps of one `./run test` or `./run check`."""

    checks: bool
    servers: bool
    tests: Mapping[str, Sequence[str]]
    # Tests without servers that run at the same time as the others.
    tests_alone: Mapping[str, Sequence[str]] = field(default_factory=dict)
    # Also what the gate omits; tests/extent.py lists it.
    everything: bool = False


def main(arguments: Sequence[str]) -> int:
    """Run every step, the later ones even if an earlier one failed; 0 only if all passed."""
    steps = Steps()
    try:
        _run(make_plan(arguments), steps)
    except LaunchError as exc:
        print_line(f"\n{exc}")
        steps.end_background()
        return 2
    except StopRequested:
        steps.end_background()
        print_line("\nStopped; the servers of the tests are gone.")
        return 130
    return steps.summarise()


def make_plan(arguments: Sequence[str]) -> Plan:
    """Parse the command line: `check`, or `test` with `--fast`, `--all` and pytest's arguments."""
    command, *rest = arguments or ["test"]
    everything = "--all" in rest
    pytest_arguments = [argument for argument in rest if argument not in {"--fast", "--all"}]
    if command == "check":
        return Plan(checks=True, servers=True, tests={})
    if "--fast" in rest:
        tests = _tests_without_servers("auto", pytest_arguments)
        return Plan(checks=True, servers=False, tests=tests)
    if pytest_arguments:
        return Plan(
            checks=False,
            servers=not _need_no_servers(pytest_arguments),
            tests={"tests": pytest_arguments},
            everything=everything,
        )
    return Plan(True, True, _tests_with_servers(), _tests_without_servers(ONE_PROCESS), everything)


def _run(plan: Plan, steps: Steps) -> None:
    if plan.checks:
        _check_without_servers(steps)
    with _start_servers(steps.stop) if plan.servers else _environment_without_servers() as env:
        if plan.checks and plan.servers:
            steps.run("migrations", MIGRATIONS_CHECK, env)
        env |= {"TEST_EXTENT": "all" if plan.everything else "gate"}
        for name, pytest_arguments in plan.tests_alone.items():
            steps.run_in_background(name, (*PYTEST, *pytest_arguments), env)
        for name, pytest_arguments in plan.tests.items():
            steps.run(name, (*PYTEST, *pytest_arguments), env)
        steps.wait_for_background()


def _need_no_servers(pytest_arguments: Sequence[str]) -> bool:
    """Return whether all paths among pytest's arguments are in folders that need no servers."""
    paths = [
        path
        for argument in pytest_arguments
        if (path := ROOT / argument.partition("::")[0]).exists()
    ]
    folders = [ROOT / "tests" / name for name in WITHOUT_SERVERS]
    is_inside = [any(path.is_relative_to(folder) for folder in folders) for path in paths]
    return bool(is_inside) and all(is_inside)


def _tests_without_servers(processes: str, options: Sequence[str] = ()) -> dict[str, Sequence[str]]:
    folders = [f"tests/{name}" for name in WITHOUT_SERVERS]
    return {"tests alone": ("--numprocesses", processes, *BY_FILE, *folders, *options)}


def _tests_with_servers() -> dict[str, Sequence[str]]:
    """Each process has a database and a broker of its own (tests/own_broker.py).

    Tests wait for servers, so there is one more process than cores, besides the one that runs the
    tests without servers. Every process imports and collects all tests of its session, which takes
    seconds: that is why these are two sessions.
    """
    ignored = [f"--ignore=tests/{name}" for name in WITHOUT_SERVERS]
    return {"tests": ("--numprocesses", str((os.cpu_count() or 1) + 1), *BY_FILE, *ignored)}


def _check_without_servers(steps: Steps) -> None:
    production_env = _environment("https://toolgauge.example", Path("/nonexistent"))
    steps.run_in_background("types", TYPES, production_env)
    for name, command in CHECKS_WITHOUT_SERVERS.items():
        steps.run(name, command, production_env)


@contextmanager
def _environment_without_servers() -> Iterator[dict[str, str]]:
    """Yield an environment without a database; its data folder is deleted at the end."""
    with tempfile.TemporaryDirectory(prefix="toolgauge-test-") as folder:
        yield _environment(f"http://{ports.LOOPBACK}:8000", Path(folder))


@contextmanager
def _start_servers(stop: StopRequest) -> Iterator[dict[str, str]]:
    """Yield an environment with a fresh Postgres and Valkey; their data is deleted at the end."""
    folder = Path(tempfile.mkdtemp(prefix="toolgauge-test-"))
    supervisor = Supervisor(lambda _line: None, stop)
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
        yield _environment(f"http://{ports.LOOPBACK}:8000", folder) | {
            "DATABASE_URL": cluster.url(),
            "REDIS_URL": store.url(),
        }
    finally:
        supervisor.stop_all()
        shutil.rmtree(folder, ignore_errors=True)


def _environment(public_url: str, data: Path) -> dict[str, str]:
    """Return the product's variables, with keys of this run and none of a developer's settings."""
    variables = {
        "SECRET_KEY": secrets.token_urlsafe(48),
        "CREDENTIAL_KEYS": base64.b64encode(secrets.token_bytes(32)).decode(),
        "PUBLIC_URL": public_url,
        "DATA_DIR": str(data),
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    dropped = {
        "DEBUG",
        # Hundreds of processes start: each would compile all that it imports.
        "PYTHONDONTWRITEBYTECODE",
        *("DATABASE_URL", "DATABASE_URL_FILE"),
        *("REDIS_URL", "REDIS_URL_FILE"),
        "SECRET_KEY_FILE",
        "CREDENTIAL_KEYS_FILE",
    }
    return {name: value for name, value in os.environ.items() if name not in dropped} | variables


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
