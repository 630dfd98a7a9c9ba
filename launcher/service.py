"""A service of the product: a process that the supervisor runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from launcher.process import Command


def _do_nothing() -> None:
    return


@dataclass(frozen=True, slots=True)
class Service:
    """One named process that is kept running."""

    name: str
    command: Command
    # Called with the uptime in seconds, again and again until it returns True.
    is_ready: Callable[[float], bool]
    where: str = ""
    ready_seconds: float = 60.0
    # Runs before each start, including restarts.
    before_start: Callable[[], None] = _do_nothing


def alive_for(seconds: float) -> Callable[[float], bool]:
    """Return a readiness check for a service without one of its own: a minimum uptime."""
    return lambda up: up >= seconds
