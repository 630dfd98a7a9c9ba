"""The steps of `./run test`: commands in sequence or in the background, and a summary."""

from __future__ import annotations

import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from launcher.console import print_line
from launcher.services import ROOT
from launcher.supervisor import StopRequest, StopRequested


@dataclass(frozen=True, slots=True)
class BackgroundStep:
    """A step that runs in the background, and its output."""

    child: subprocess.Popen[bytes]
    output: IO[bytes]
    started: float


class Steps:
    """Runs commands one after another and records which failed."""

    def __init__(self) -> None:
        self.stop = StopRequest()
        self.stop.listen()
        self._failed: dict[str, int] = {}
        self._seconds: dict[str, float] = {}
        self._background: dict[str, BackgroundStep] = {}

    def run(self, name: str, command: Sequence[str], env: Mapping[str, str]) -> None:
        print_line(f"\n=== {name}: {' '.join(Path(word).name for word in command)}")
        started = time.monotonic()
        # In our own process group: Ctrl-C reaches it too, so that pytest can shut down itself.
        child = subprocess.Popen(command, cwd=ROOT, env=dict(env))
        code = self._wait(child)
        self._seconds[name] = time.monotonic() - started
        if code != 0:
            self._failed[name] = code
        if self.stop.is_requested():
            raise StopRequested

    def run_in_background(self, name: str, command: Sequence[str], env: Mapping[str, str]) -> None:
        """Start a step in the background; `wait_for_background` prints its output."""
        output = tempfile.TemporaryFile()  # noqa: SIM115 -- closed when the process ends
        child = subprocess.Popen(
            command, cwd=ROOT, env=dict(env), stdout=output, stderr=subprocess.STDOUT
        )
        self._background[name] = BackgroundStep(child, output, time.monotonic())

    def wait_for_background(self) -> None:
        for name, step in self._background.items():
            code = self._wait(step.child)
            self._record_ended()
            step.output.seek(0)
            print_line(f"\n=== {name}\n{step.output.read().decode(errors='replace').rstrip()}")
            if code != 0:
                self._failed[name] = code

    def end_background(self) -> None:
        for step in self._background.values():
            if step.child.poll() is None:
                self._end(step.child)

    def summarise(self) -> int:
        print_line("")
        for name, seconds in self._seconds.items():
            verdict = f"FAILED ({self._failed[name]})" if name in self._failed else "passed"
            print_line(f"{name:<12}{verdict:<14}{seconds:6.1f} s")
        return next(iter(self._failed.values()), 0)

    def _wait(self, child: subprocess.Popen[bytes]) -> int:
        while True:
            try:
                return child.wait(timeout=0.1)
            except subprocess.TimeoutExpired:
                self._record_ended()
                if self.stop.is_requested():
                    return self._end(child)

    def _record_ended(self) -> None:
        """Record how long a background step took, even while we wait for another one."""
        for name, step in self._background.items():
            if name not in self._seconds and step.child.poll() is not None:
                self._seconds[name] = time.monotonic() - step.started

    def _end(self, child: subprocess.Popen[bytes]) -> int:
        child.send_signal(signal.SIGINT)
        try:
            return child.wait(timeout=20)
        except subprocess.TimeoutExpired:
            child.kill()
            return child.wait()
