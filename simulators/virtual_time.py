"""An event loop whose clock jumps to the next timer: a month of waiting passes in no time."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

from typing_extensions import override

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run to the end in virtual time, which begins at nought.

    Only what waits for the loop's own timers and for itself can be run: there is no network.
    """
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(main)


def now() -> float:
    """What the running loop's clock shows."""
    return asyncio.get_running_loop().time()


class _Selector(selectors.SelectSelector):
    """Waits for nothing: what would have been waited is added to the clock."""

    passed = 0.0

    @override
    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("Everything waits, and no timer is set that could end it.")
        self.passed += max(timeout, 0)
        return super().select(0)


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._waiting = _Selector()
        super().__init__(self._waiting)

    @override
    def time(self) -> float:
        return self._waiting.passed
