"""`./run test` and `./run check`: all checks and tests, on servers made for them."""

from __future__ import annotations

import base64
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from launcher import ports, postgres, valkey
from launcher.console import say
from launcher.datafolder import open_data_folder
from launcher.errors import LaunchError
from launcher.services import ROOT
from launcher.supervisor import StopRequest, StopRequested, Supervisor

BIN = Path(sys.executable).parent
MANAGE = (sys.executable, "manage.py")

CHECKS_WITHOUT_SERVERS: Mapping[str, Sequence[str]] = {
    "format": (str(BIN / "ruff"), "format", "--check", "."),
    "lint": (str(BIN / "ruff"), "check", "."),
    "layers": (str(BIN / "lint-imports"),),
    "deploy": (*MANAGE, "check", "--deploy", "--fail-level", "WARNING"),
}
# It takes long on one core, so it runs beside the steps that follow.
TYPES = (str(BIN / "mypy"),)
# Tests that touch neither the database nor the broker: they need all of the cores.
WITHOUT_SERVERS = ("cli", "health", "probes", "simulators", "zoo")
MIGRATIONS_CHECK = (*MANAGE, "makemigrations", "--check", "--dry-run")


def main(arguments: Sequence[str]) -> int:
    """Run every step, the later ones even if an earlier one failed; 0 only if all passed."""
    command, *rest = arguments or ["test"]
    steps = Steps()
    try:
        if not rest:
            _check_without_servers(steps)
        with _servers(steps.stop) as env:
            if not rest:
                steps.run("migrations", MIGRATIONS_CHECK, env)
            if command == "test":
                for name, chosen in _tests(rest).items():
                    steps.run(name, (sys.executable, "-m", "pytest", *chosen), env)
            steps.wait_for_those_beside()
    except LaunchError as exc:
        say(f"\n{exc}")
        steps.end_those_beside()
        return 2
    except StopRequested:
        steps.end_those_beside()
        say("\nStopped; the servers of the tests are gone.")
        return 130
    return steps.summarise()


def _tests(rest: Sequence[str]) -> dict[str, Sequence[str]]:
    """What pytest is given: what was asked for, or all tests in two parts."""
    if rest:
        return {"tests": rest}
    folders = [f"tests/{name}" for name in WITHOUT_SERVERS]
    others = [f"--ignore={folder}" for folder in folders]
    # A file stays in one process: its tests share what they set up. Each process has a database
    # of its own on the one server, and a broker of its own (tests/own_broker.py).
    # In our order, the longest files first: xdist's own puts those with one long test last.
    by_file = ("--dist", "loadfile", "--no-loadscope-reorder")
    # Tests with servers wait for them now and then, so two processes more than there are cores.
    waiting = str((os.cpu_count() or 1) + 2)
    return {
        "tests alone": ("--numprocesses", "auto", *by_file, *folders),
        "tests": ("--numprocesses", waiting, *by_file, *others),
    }


@dataclass(frozen=True, slots=True)
class Beside:
    """A step that runs beside the others, and what it says."""

    child: subprocess.Popen[bytes]
    said: IO[bytes]
    begun: float


class Steps:
    """Runs commands one after another and remembers which failed."""

    def __init__(self) -> None:
        self.stop = StopRequest()
        self.stop.listen()
        self._failed: dict[str, int] = {}
        self._seconds: dict[str, float] = {}
        self._beside: dict[str, Beside] = {}

    def run(self, name: str, command: Sequence[str], env: Mapping[str, str]) -> None:
        say(f"\n=== {name}: {' '.join(Path(word).name for word in command)}")
        begun = time.monotonic()
        # In our own process group: Ctrl-C reaches it too, so that pytest can end its own way.
        child = subprocess.Popen(command, cwd=ROOT, env=dict(env))
        code = self._wait(child)
        self._seconds[name] = time.monotonic() - begun
        if code != 0:
            self._failed[name] = code
        if self.stop.is_asked():
            raise StopRequested

    def run_beside(self, name: str, command: Sequence[str], env: Mapping[str, str]) -> None:
        """Start a step and go on; what it says is shown when it is waited for."""
        said = tempfile.TemporaryFile()  # noqa: SIM115 -- it is closed with the process
        child = subprocess.Popen(
            command, cwd=ROOT, env=dict(env), stdout=said, stderr=subprocess.STDOUT
        )
        self._beside[name] = Beside(child, said, time.monotonic())

    def wait_for_those_beside(self) -> None:
        for name, beside in self._beside.items():
            code = self._wait(beside.child)
            self._seconds[name] = time.monotonic() - beside.begun
            beside.said.seek(0)
            say(f"\n=== {name}\n{beside.said.read().decode(errors='replace').rstrip()}")
            if code != 0:
                self._failed[name] = code

    def end_those_beside(self) -> None:
        for beside in self._beside.values():
            if beside.child.poll() is None:
                self._end(beside.child)

    def summarise(self) -> int:
        say("")
        for name, seconds in self._seconds.items():
            verdict = f"FAILED ({self._failed[name]})" if name in self._failed else "passed"
            say(f"{name:<12}{verdict:<14}{seconds:6.1f} s")
        return next(iter(self._failed.values()), 0)

    def _wait(self, child: subprocess.Popen[bytes]) -> int:
        while True:
            try:
                return child.wait(timeout=0.1)
            except subprocess.TimeoutExpired:
                if self.stop.is_asked():
                    return self._end(child)

    def _end(self, child: subprocess.Popen[bytes]) -> int:
        child.send_signal(signal.SIGINT)
        try:
            return child.wait(timeout=20)
        except subprocess.TimeoutExpired:
            child.kill()
            return child.wait()


def _check_without_servers(steps: Steps) -> None:
    as_in_production = _environment("https://toolgauge.example", Path("/nonexistent"))
    steps.run_beside("types", TYPES, as_in_production)
    for name, command in CHECKS_WITHOUT_SERVERS.items():
        steps.run(name, command, as_in_production)


@contextmanager
def _servers(stop: StopRequest) -> Iterator[dict[str, str]]:
    """Give an environment with a fresh Postgres and Valkey; their data goes away with them."""
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
    """Return what the product needs, with keys of this run only and no switch of a developer's."""
    ours = {
        "SECRET_KEY": secrets.token_urlsafe(48),
        "CREDENTIAL_KEYS": base64.b64encode(secrets.token_bytes(32)).decode(),
        "PUBLIC_URL": public_url,
        "DATA_DIR": str(data),
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    dropped = {
        "DEBUG",
        # Hundreds of processes are started: each would compile all that it imports.
        "PYTHONDONTWRITEBYTECODE",
        "DATABASE_URL_FILE",
        "REDIS_URL_FILE",
        "SECRET_KEY_FILE",
        "CREDENTIAL_KEYS_FILE",
    }
    return {name: value for name, value in os.environ.items() if name not in dropped} | ours


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
