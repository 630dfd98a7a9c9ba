"""Does what `docker compose` does with docker-compose.yml, with processes instead of containers.

Every service runs its own command with its own environment and its own `/tmp` on the files of the
image, and its health check runs as it is written. Only addresses change: `postgres:5432`,
`redis:6379` and the port of web become ports of this machine. There is no isolation: users,
read-only file systems, capabilities and memory limits are not enforced.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from launcher import ports, postgres
from launcher.binaries import postgres_folder, valkey_server
from launcher.datafolder import open_data_folder, write_private
from launcher.process import Command, Process
from tests.deploy.compose_file import read_compose_file
from tests.deploy.image import BASE_ENV, IMAGE_PATH, Image, build_image

# Only against a service that never gets ready.
PATIENCE_SECONDS = 180
# The wheel of Valkey has no client.
VALKEY_CLI = """#!{python}
import os, redis
print("PONG" if redis.Redis(port={port}, password=os.environ["VALKEYCLI_AUTH"]).ping() else "")
"""


class ComposeProject:
    """A folder with docker-compose.yml and `.env`, and its running services."""

    def __init__(self, folder: Path, state: Path) -> None:
        self.folder = folder
        self.state = state
        self.image: Image | None = None
        self.running: dict[str, Process] = {}
        self._images: dict[str, Image | None] = {}
        self._ports = {"postgres:5432": ports.free_port(), "redis:6379": ports.free_port()}
        self._cluster: postgres.Cluster | None = None

    @property
    def services(self) -> dict[str, dict[str, Any]]:
        services: dict[str, dict[str, Any]] = read_compose_file(self.folder)["services"]
        return services

    def build(self) -> Image:
        """A new image; the next `up` replaces the containers of the old one."""
        args = self.services["web"]["build"]["args"]
        built = len(list(self.state.glob("image-*")))
        self.image = build_image(self.folder, self.state / f"image-{built}", args)
        return self.image

    def up(self, *words: str) -> None:
        """`docker compose up`: start what does not run, in the order of `depends_on`."""
        parser = argparse.ArgumentParser()
        for flag in ("--detach", "--build", "--no-deps"):
            parser.add_argument(flag, action="store_true")
        parser.add_argument("--scale", action="append", default=[])
        parser.add_argument("services", nargs="*")
        options = parser.parse_args(words)
        if options.build or self.image is None:
            self.build()
        for container in [name for name in self.running if self._is_outdated(name)]:
            self.running.pop(container).stop()
        started = {name for name, process in self.running.items() if process.exit_code() is None}
        for name in options.services or self.services:
            self._bring_up(name, started, with_dependencies=not options.no_deps)
        for scaled in options.scale:
            name, _, count = scaled.partition("=")
            for number in range(2, int(count) + 1):
                self._start(name, f"{name}-{number}", started)
        self._write_stand_in()

    def stop(self, *names: str) -> None:
        """`docker compose stop`: with the signal of the service and in its time, in reverse."""
        for container in reversed(list(self.running)):
            if not names or container.partition("-")[0] in names:
                self.running.pop(container).stop()

    def ps(self) -> str:
        """`docker compose ps`, looked at until every service is healthy."""
        names = [name for name in self.services if name in self.running and name != "migrate"]
        self.wait_until_healthy(*names)
        return "".join(f"{name} healthy\n" for name in names)

    def logs(self, container: str) -> str:
        return (self.state / f"{container}.log").read_text(errors="replace")

    def wait_until_healthy(self, *names: str) -> None:
        """Until the health check of each service has passed."""
        for name in names:
            end = time.monotonic() + PATIENCE_SECONDS
            while not self._is_healthy(name):
                assert self.running[name].exit_code() is None, self.logs(name)
                assert time.monotonic() < end, f"{name} is not healthy\n{self.logs(name)}"
                time.sleep(0.2)

    def environment(self, name: str) -> dict[str, str]:
        """The variables of a container, with paths and addresses of this machine."""
        service = self.services[name]
        own = {key: self._on_host(value, name) for key, value in service["environment"].items()}
        if name == "postgres":
            at = {"PGHOST": ports.LOOPBACK, "PGPORT": str(self._ports["postgres:5432"])}
            login = {"PGPASSWORD": own["POSTGRES_PASSWORD"]}
            return {"PATH": f"{postgres_folder()}:{BASE_ENV['PATH']}", **at, **login, **own}
        if name == "redis":
            folders = [str(valkey_server().parent), str(self.state / "bin"), BASE_ENV["PATH"]]
            return {"PATH": ":".join(folders), **own}
        return {**self.root(name).environment(), **own, "TMPDIR": self._on_host("/tmp", name)}

    def root(self, name: str) -> Image:
        """The image as a container sees it: the same files, and a `/tmp` of its own."""
        assert self.image is not None
        root = self.state / "roots" / self.image.root.parent.name / name
        if not root.exists():
            (root / "tmp").mkdir(parents=True)
            for folder in ("app", "opt"):
                (root / folder).symlink_to(self.image.root / folder)
        return replace(self.image, root=root)

    def _is_outdated(self, container: str) -> bool:
        is_ours = "build" in self.services[container.partition("-")[0]]
        return is_ours and self._images[container] is not self.image

    def _bring_up(self, name: str, started: set[str], *, with_dependencies: bool) -> None:
        needs: Mapping[str, Any] = self.services[name].get("depends_on", {})
        for dependency, rule in needs.items() if with_dependencies else ():
            self._bring_up(dependency, started, with_dependencies=True)
            if rule["condition"] == "service_healthy":
                self.wait_until_healthy(dependency)
            elif rule["condition"] == "service_completed_successfully":
                self._wait_for_success(dependency)
        self._start(name, name, started)

    def _wait_for_success(self, name: str) -> None:
        while (code := self.running[name].exit_code()) is None:
            time.sleep(0.05)
        assert code == 0, self.logs(name)

    def _start(self, name: str, container: str, started: set[str]) -> None:
        if container in started:
            return
        started.add(container)
        log = self.state / f"{container}.log"
        if name == "postgres":
            command = self._postgres_command(log)
        else:
            command = self._command(name, self._command_line(name), log)
        self.running[container] = Process(command)
        self._images[container] = self.image
        if name == "postgres" and self._cluster:
            self.wait_until_healthy(name)
            postgres.ensure_database(self._cluster)

    def _command(self, name: str, words: Sequence[str], log: Path | None) -> Command:
        service = self.services[name]
        return Command(
            argv=tuple(words),
            env=self.environment(name),
            cwd=self._working_folder(name),
            log=log,
            stop_signal=signal.Signals[service.get("stop_signal", "SIGTERM")],
            stop_seconds=float(service.get("stop_grace_period", "10s").rstrip("s")),
        )

    def _command_line(self, name: str) -> list[str]:
        service = self.services[name]
        words = service.get("command") or (self.image.command if self.image else ())
        line = [self._on_host(word, name) for word in words]
        if name == "redis":
            self._write_valkey_client()
            at = f"valkey-server - --port {self._ports['redis:6379']} --bind {ports.LOOPBACK}"
            line = [word.replace("valkey-server -", at) for word in line]
        return line

    def _on_host(self, text: str, name: str) -> str:
        for address, port in self._ports.items():
            text = text.replace(f"@{address}", f"@{ports.LOOPBACK}:{port}")
        if text in {"8000", "0.0.0.0"}:
            published: list[str] = self.services["web"]["ports"][0].split(":")
            return published[1] if text == "8000" else published[0]
        return text if name in {"postgres", "redis"} else self.root(name).on_host(text)

    def _working_folder(self, name: str) -> Path:
        if name in {"postgres", "redis"}:
            volume = self.state / "volumes" / name
            volume.mkdir(parents=True, exist_ok=True)
            return volume
        return self.root(name).path(".")

    def _postgres_command(self, log: Path) -> Command:
        """The official image initialises the volume with these variables and starts the server."""
        variables = self.services["postgres"]["environment"]
        assert variables["POSTGRES_USER"] == variables["POSTGRES_DB"] == postgres.NAME
        home = open_data_folder(self._working_folder("postgres"))
        write_private(home.path / "postgres-password", variables["POSTGRES_PASSWORD"])
        cluster = postgres.open_cluster(home, durable=False)
        self._cluster = replace(cluster, port=self._ports["postgres:5432"])
        return postgres.postgres_service(self._cluster, log).command

    def _is_healthy(self, name: str) -> bool:
        kind, *words = self.services[name]["healthcheck"]["test"]
        line = [self._on_host(word, name) for word in words]
        done = subprocess.run(
            ["sh", "-c", *line] if kind == "CMD-SHELL" else line,
            cwd=self._working_folder(name),
            env=self.environment(name),
            capture_output=True,
            check=False,
        )
        return done.returncode == 0

    def _write_valkey_client(self) -> None:
        client = self.state / "bin" / "valkey-cli"
        client.parent.mkdir(exist_ok=True)
        port = self._ports["redis:6379"]
        client.write_text(VALKEY_CLI.format(python=sys.executable, port=port))
        client.chmod(0o755)

    def _write_stand_in(self) -> None:
        """What tests/deploy/docker_stand_in.py needs to know."""
        services = {
            name: {
                "env": self.environment(name),
                "folder": str(self._working_folder(name)),
                "root": str(self.root(name).root),
                "image_path": IMAGE_PATH.pattern,
            }
            for name in self.services
        }
        write_private(self.state / "services.json", json.dumps(services))
