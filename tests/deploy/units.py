"""Starts the commands of deploy/systemd as systemd would, without its isolation."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from launcher.process import Command, Process
from tests.deploy.compose_file import read_env_file
from tests.deploy.image import BASE_ENV

FOLDER = Path(__file__).resolve().parents[2] / "deploy/systemd"


def read_unit(name: str) -> dict[str, list[str]]:
    """The values of each setting of a unit; `name@1` is an instance of `name@`."""
    template, at, instance = name.partition("@")
    text = (FOLDER / f"{template}{at}.service").read_text()
    settings: dict[str, list[str]] = {}
    for line in text.replace("%i", instance).replace("%H", "host").splitlines():
        setting, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            settings.setdefault(setting, []).append(value)
    return settings


@dataclass(frozen=True, slots=True)
class Host:
    """Where the paths and the port of the units are on this machine."""

    paths: Mapping[str, str]
    log: Path

    def run(self, name: str) -> None:
        """A oneshot unit: all its commands, in order."""
        unit = read_unit(name)
        assert unit["Type"] == ["oneshot"]
        for command in self._commands(unit):
            done = subprocess.run(command.argv, cwd=command.cwd, env=dict(command.env), check=False)
            assert done.returncode == 0, command.argv

    def start(self, name: str) -> Process:
        """The one command of a unit."""
        (command,) = self._commands(read_unit(name))
        return Process(command)

    def _commands(self, unit: Mapping[str, list[str]]) -> list[Command]:
        (folder,) = unit["WorkingDirectory"]
        return [
            Command(
                argv=tuple(map(self._on_host, shlex.split(line))),
                env=self._environment(unit),
                cwd=Path(self._on_host(folder)),
                log=self.log,
            )
            for line in unit["ExecStart"]
        ]

    def _environment(self, unit: Mapping[str, list[str]]) -> dict[str, str]:
        """The file overrides Environment, and UnsetEnvironment comes last."""
        env = {**BASE_ENV, **dict(line.split("=", 1) for line in unit.get("Environment", []))}
        (file,) = unit["EnvironmentFile"]
        env |= read_env_file(Path(self._on_host(file)))
        for name in unit.get("UnsetEnvironment", []):
            env.pop(name, None)
        return env

    def _on_host(self, text: str) -> str:
        known = re.compile("|".join(rf"(?<![\w/]){re.escape(path)}(?!\w)" for path in self.paths))
        return known.sub(lambda match: self.paths[match[0]], text)
