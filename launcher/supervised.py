"""One part over its life: starting, ready, dead, started again after a pause, stopped."""

from __future__ import annotations

import time
from collections.abc import Callable

from launcher.console import Say, service_line
from launcher.errors import LaunchError
from launcher.process import Process, last_lines
from launcher.service import Service

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
STEADY_SECONDS = 60.0  # up for so long, and the next death begins with the first pause again
FIRST_TRIES = 3  # a part that was never ready is not worth more


class SupervisedService:
    """A part that is kept running."""

    def __init__(self, service: Service, say: Say) -> None:
        self.service = service
        self.is_ready = False
        self._say = say
        self._process: Process | None = None
        self._was_ready = False
        self._deaths = 0
        self._pause = FIRST_PAUSE
        self._start_at = 0.0

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def tick(self) -> None:
        """Look at the part once and do what is due."""
        if self._process is None:
            if time.monotonic() >= self._start_at:
                self._start()
        elif (code := self._process.exit_code()) is not None:
            self._bury(self._process, _ending(code))
        elif not self.is_ready:
            self._look_whether_ready(self._process)

    def stop(self, hurry: Callable[[], bool]) -> None:
        """End the process, if there is one, with all that it started."""
        if self._process is None:
            return
        begun = time.monotonic()
        self._process.stop(hurry)
        self._process = None
        self.is_ready = False
        self._say(service_line(self.service.name, "stopped", seconds=time.monotonic() - begun))

    def _start(self) -> None:
        self.service.before_start()
        try:
            self._process = Process(self.service.command)
        except OSError as exc:
            raise LaunchError(f"{self.service.name} cannot be started: {exc}") from exc

    def _look_whether_ready(self, process: Process) -> None:
        if self.service.is_ready(process.seconds):
            self.is_ready = self._was_ready = True
            detail = self.service.where or f"pid {process.pid}"
            self._say(service_line(self.service.name, "ready", detail, process.seconds))
        elif process.seconds > self.service.ready_seconds:
            self._bury(process, f"not ready in {self.service.ready_seconds:.0f} s")

    def _bury(self, process: Process, reason: str) -> None:
        process.stop(lambda: True)  # what it started may still live
        self._process = None
        self.is_ready = False
        self._deaths += 1
        self._say(service_line(self.service.name, "died", reason, process.seconds))
        if not self._was_ready and self._deaths >= FIRST_TRIES:
            raise LaunchError(self._explain())
        if process.seconds >= STEADY_SECONDS:
            self._pause = FIRST_PAUSE
        self._say(service_line(self.service.name, "restarts", f"in {self._pause:g} s"))
        self._start_at = time.monotonic() + self._pause
        self._pause = min(self._pause * 2, LONGEST_PAUSE)

    def _explain(self) -> str:
        log = self.service.command.log
        shown = f" The end of {log}:\n{last_lines(log)}" if log else ""
        return f"{self.service.name} did not start after {self._deaths} tries.{shown}"


def _ending(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {-code}"
