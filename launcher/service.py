"""A part of the product, as the supervisor sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from launcher.process import Command


def _nothing() -> None:
    return


@dataclass(frozen=True, slots=True)
class Service:
    """One named process that is kept running."""

    name: str
    command: Command
    # Told how many seconds the process has been up; asked again and again until it says yes.
    is_ready: Callable[[float], bool]
    where: str = ""
    ready_seconds: float = 60.0
    # Runs before each start, the restarts included.
    before_start: Callable[[], None] = _nothing


def alive_for(seconds: float) -> Callable[[float], bool]:
    """Return a readiness test for a part that nobody can ask: it has stayed up for a while."""
    return lambda up: up >= seconds
