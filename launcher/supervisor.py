"""Starts services in order, keeps them running, and stops them in reverse."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence
from types import FrameType

from launcher.console import PrintLine, service_line
from launcher.errors import LaunchError
from launcher.process import Command, Process
from launcher.service import Service
from launcher.supervised import SupervisedService

TICK = 0.05


class StopRequested(Exception):
    """A stop signal arrived while services were starting or running."""


class StopRequest:
    """Counts stop signals: one requests a stop, two make it urgent."""

    def __init__(self) -> None:
        self.count = 0

    def listen(self) -> None:
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # Under nohup a hang-up is ignored on purpose.
            if signum != signal.SIGHUP or signal.getsignal(signum) != signal.SIG_IGN:
                signal.signal(signum, self._note)

    def is_requested(self) -> bool:
        return self.count > 0

    def is_urgent(self) -> bool:
        return self.count > 1

    def _note(self, _signum: int, _frame: FrameType | None) -> None:
        self.count += 1


class Supervisor:
    """All services of one running product."""

    def __init__(self, say: PrintLine, stop: StopRequest) -> None:
        self.supervised: list[SupervisedService] = []
        self._say = say
        self._stop = stop

    def start(self, services: Sequence[Service]) -> None:
        """Start the services in order, without waiting for them."""
        for service in services:
            self.supervised.append(SupervisedService(service, self._say))
        self.tick()

    def bring_up(self, services: Sequence[Service]) -> None:
        """Start the services in order and return when these and all earlier ones are ready."""
        self.start(services)
        while not all(supervised.is_ready for supervised in self.supervised):
            self._pause()
            self.tick()

    def run_once(self, name: str, command: Command) -> None:
        """Run a command to its end, before further services start."""
        process = Process(command)
        try:
            while process.exit_code() is None:
                self._pause()
                self.tick()
        finally:
            process.stop()
        code = process.exit_code()
        if code != 0:
            raise LaunchError(
                f"{name} failed (exit code {code}); the reason is above. Nothing was left running."
            )
        self._say(service_line(name, "done", seconds=process.seconds))

    def keep_up(self, watch: Callable[[], None] = lambda: None) -> None:
        """Restart services that die and call `watch`, until a stop is requested."""
        while True:
            self._pause()
            self.tick()
            watch()

    def tick(self) -> None:
        for supervised in self.supervised:
            supervised.tick()

    def stop_all(self) -> None:
        """Stop the services in reverse order, one after the other."""
        while self.supervised:
            self.supervised.pop().stop(self._stop.is_urgent)

    def _pause(self) -> None:
        if self._stop.is_requested():
            raise StopRequested
        time.sleep(TICK)
