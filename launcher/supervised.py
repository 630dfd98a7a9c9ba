"""The lifecycle of one service: starting, ready, dead, restarted after a pause, stopped."""

from __future__ import annotations

import time
from collections.abc import Callable

from launcher.console import PrintLine, service_line
from launcher.errors import LaunchError
from launcher.process import Process, bound_log, read_last_lines
from launcher.service import Service

FIRST_PAUSE = 0.5
MAX_PAUSE = 30.0
STABLE_SECONDS = 60.0  # after this uptime, the next death begins with the first pause again
FIRST_TRIES = 3  # of a service that was never ready
LOG_SECONDS = 1.0  # between two looks at the size of a log


class SupervisedService:
    """A service that is restarted when it dies."""

    def __init__(self, service: Service, say: PrintLine) -> None:
        self.service = service
        self.is_ready = False
        self._say = say
        self._process: Process | None = None
        self._was_ready = False
        self._deaths = 0
        self._pause = FIRST_PAUSE
        self._start_at = 0.0
        self._look_at_log_at = 0.0

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def tick(self) -> None:
        """Check the service once and do what is due."""
        self._bound_log()
        if self._process is None:
            if time.monotonic() >= self._start_at:
                self._start()
        elif (code := self._process.exit_code()) is not None:
            self._handle_death(self._process, _exit_reason(code))
        elif not self.is_ready:
            self._check_ready(self._process)

    def stop(self, is_urgent: Callable[[], bool]) -> None:
        """End the process, if there is one, and its children."""
        if self._process is None:
            return
        started = time.monotonic()
        self._process.stop(is_urgent)
        self._process = None
        self.is_ready = False
        self._say(service_line(self.service.name, "stopped", seconds=time.monotonic() - started))

    def _bound_log(self) -> None:
        log = self.service.command.log
        if log is not None and time.monotonic() >= self._look_at_log_at:
            self._look_at_log_at = time.monotonic() + LOG_SECONDS
            bound_log(log)

    def _start(self) -> None:
        self.service.before_start()
        try:
            self._process = Process(self.service.command)
        except OSError as exc:
            raise LaunchError(f"{self.service.name} cannot be started: {exc}") from exc

    def _check_ready(self, process: Process) -> None:
        if self.service.is_ready(process.seconds):
            self.is_ready = self._was_ready = True
            detail = self.service.where or f"pid {process.pid}"
            self._say(service_line(self.service.name, "ready", detail, process.seconds))
        elif process.seconds > self.service.ready_seconds:
            self._handle_death(process, f"not ready in {self.service.ready_seconds:.0f} s")

    def _handle_death(self, process: Process, reason: str) -> None:
        process.stop(lambda: True)  # its children may still run
        self._process = None
        self.is_ready = False
        self._deaths += 1
        self._say(service_line(self.service.name, "died", reason, process.seconds))
        if not self._was_ready and self._deaths >= FIRST_TRIES:
            raise LaunchError(self._explain())
        if process.seconds >= STABLE_SECONDS:
            self._pause = FIRST_PAUSE
        self._say(service_line(self.service.name, "restarts", f"in {self._pause:g} s"))
        self._start_at = time.monotonic() + self._pause
        self._pause = min(self._pause * 2, MAX_PAUSE)

    def _explain(self) -> str:
        log = self.service.command.log
        log_end = f" The end of {log}:\n{read_last_lines(log)}" if log else ""
        return f"{self.service.name} did not start after {self._deaths} tries.{log_end}"


def _exit_reason(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {-code}"
