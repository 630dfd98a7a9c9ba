"""The commands of docs/operations.md, run as they are written there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

from tests.deploy.containers import PATIENCE_SECONDS, ComposeProject

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/operations.md").read_text()
_ALL_OK = re.compile(r"(?:ok .*\n)+")
OF_THE_PROJECT = {"up", "stop", "build", "ps", "logs"}


def commands_of(heading: str) -> list[str]:
    """The commands of all `sh` blocks below a heading, up to the next one of the same level."""
    level = heading.partition(" ")[0]
    section = PAGE.partition(f"\n{heading}\n")[2].split(f"\n{level} ")[0]
    assert section, f"docs/operations.md has no heading {heading!r}"
    blocks = re.findall(r"^ *```sh\n(.*?)^ *```", section, re.MULTILINE | re.DOTALL)
    return "".join(blocks).replace("\\\n", " ").splitlines()


class Shell:
    """Runs commands in the folder of the project; `docker compose` is a `ComposeProject`."""

    def __init__(self, project: ComposeProject) -> None:
        self._project = project
        stand_in = project.state / "bin" / "docker"
        stand_in.parent.mkdir(parents=True, exist_ok=True)
        program = ROOT / "tests/deploy/docker_stand_in.py"
        stand_in.write_text(f'#!/bin/sh\nexec {sys.executable} {program} "$@"\n')
        stand_in.chmod(0o755)

    def run(self, line: str) -> str:
        """Run a command of the page, which must succeed; returns what it printed."""
        words = line.split()
        if words[:2] == ["docker", "compose"] and words[2] in OF_THE_PROJECT:
            return str(getattr(self._project, words[2])(*words[3:]))
        if line.endswith(" toolgauge doctor"):
            return self._wait_until_ok(line)
        return self._run_in_shell(line)

    def run_all(self, heading: str) -> list[str]:
        return [self.run(line) for line in commands_of(heading)]

    def _wait_until_ok(self, line: str) -> str:
        """`toolgauge doctor` until all its lines are ok: the first pulses take a moment."""
        end = time.monotonic() + PATIENCE_SECONDS
        while not _ALL_OK.fullmatch((done := self._execute(line)).stdout):
            assert time.monotonic() < end, done.stdout + done.stderr
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _run_in_shell(self, line: str) -> str:
        done = self._execute(line)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout

    def _execute(self, line: str) -> subprocess.CompletedProcess[str]:
        state = self._project.state
        return subprocess.run(
            ["bash", "-euo", "pipefail", "-c", line],
            cwd=self._project.folder,
            env={
                "PATH": f"{state / 'bin'}:{os.environ['PATH']}",
                "STAND_IN_SERVICES": str(state / "services.json"),
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
