"""The steps of `./run test`: commands one after another, some beside, and a table at the end."""

from __future__ import annotations

import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from launcher.console import say
from launcher.services import ROOT
from launcher.supervisor import StopRequest, StopRequested


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
