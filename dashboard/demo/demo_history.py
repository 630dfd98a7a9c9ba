"""The month that lies behind the simulated fleet, made up when the product is first started."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from django.db import transaction

from dashboard.demo.backfill import MAX_HISTORY, play_history
from dashboard.demo.demo_fleet import build_fleet
from dashboard.demo.player import SimulatedRun
from dashboard.demo.services import fleet as demo
from dashboard.models import Endpoint

StoreRun = Callable[[Endpoint, SimulatedRun], object]


def register_with_history(
    simulator_url: str,
    *,
    began: datetime,
    store: StoreRun,
    tell: Callable[[float], None] = lambda share: None,
) -> list[str]:
    """Register the fleet and store all that happened since the vendors' story began.

    All or nothing, so that a start that is broken off leaves no half of a history. `tell` is
    told again and again which share is done.
    """
    members = build_fleet(simulator_url)
    until = datetime.now(UTC)
    first = max(began, until - MAX_HISTORY)
    done = dict.fromkeys((member.slug for member in members), 0.0)
    with transaction.atomic():
        # The burst that a new endpoint begins with lies in its history.
        registered = demo.register_fleet(simulator_url, onboarding_runs=0)
        for run in play_history(members, began=began, until=until):
            store(registered[run.slug], run)
            done[run.slug] = (run.at - first) / (until - first)
            tell(sum(done.values()) / len(done))
    tell(1)
    return list(registered)


_STEPS = 4  # lines in a log


class ProgressLine:
    """One line that is written over on a terminal, and a few plain ones elsewhere."""

    def __init__(self, write: Callable[[str], object], *, is_terminal: bool) -> None:
        self._write, self._is_terminal = write, is_terminal
        self._last = -1

    def show(self, share: float) -> None:
        """Tell the share that is done, from 0 to 1, if it is worth a word."""
        step = 1 if self._is_terminal else 100 // _STEPS
        percent = int(share * 100) // step * step
        if percent <= self._last:
            return
        self._last = percent
        text = f"Playing {MAX_HISTORY.days} days of history on the simulated vendors: {percent} %"
        if self._is_terminal:
            text = f"\r{text}"
        self._write(text if self._is_terminal and percent < 100 else f"{text}\n")
