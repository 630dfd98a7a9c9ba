"""How far the history of the demo is, for people at a terminal and in a log."""

from __future__ import annotations

from collections.abc import Callable

from dashboard.demo.backfill import MAX_HISTORY

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
