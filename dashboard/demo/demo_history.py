"""The history of the simulated fleet, generated at the first start."""

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
    report_progress: Callable[[float], None] = lambda share: None,
) -> list[str]:
    """Register the fleet and store its history since `began`, in one transaction.

    An interrupted start leaves no partial history. `report_progress` gets the share that is done.
    """
    members = build_fleet(simulator_url)
    until = datetime.now(UTC)
    start = max(began, until - MAX_HISTORY)
    progress = dict.fromkeys((member.slug for member in members), 0.0)
    with transaction.atomic():
        # The history contains the onboarding runs.
        registered = demo.register_fleet(simulator_url, onboarding_runs=0)
        for run in play_history(members, began=began, until=until):
            store(registered[run.slug], run)
            progress[run.slug] = (run.at - start) / (until - start)
            report_progress(sum(progress.values()) / len(progress))
    report_progress(1)
    return list(registered)


_LOG_STEPS = 4


class ProgressLine:
    """A line that is overwritten on a terminal, or a few plain lines elsewhere."""

    def __init__(self, write: Callable[[str], object], *, is_terminal: bool) -> None:
        self._write, self._is_terminal = write, is_terminal
        self._last_percent = -1

    def show(self, share: float) -> None:
        """Write the share that is done, from 0 to 1, if the shown number changes."""
        step = 1 if self._is_terminal else 100 // _LOG_STEPS
        percent = int(share * 100) // step * step
        if percent <= self._last_percent:
            return
        self._last_percent = percent
        text = f"Playing {MAX_HISTORY.days} days of history on the simulated vendors: {percent} %"
        if self._is_terminal:
            text = f"\r{text}"
        self._write(text if self._is_terminal and percent < 100 else f"{text}\n")
