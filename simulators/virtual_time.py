"""An event loop whose clock jumps to the next timer: a month of waiting takes no real time."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

from typing_extensions import override

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in virtual time, which starts at 0.

    It can wait only for the loop's timers and its own tasks: there is no network.
    """
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(main)


def now() -> float:
    """The time of the running loop's clock."""
    return asyncio.get_running_loop().time()


class _Selector(selectors.SelectSelector):
    """Never waits: adds the timeout to the clock instead."""

    elapsed = 0.0

    @override
    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("Everything waits, and no timer is set that could end it.")
        self.elapsed += max(timeout, 0)
        return super().select(0)


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._virtual_selector = _Selector()
        super().__init__(self._virtual_selector)

    @override
    def time(self) -> float:
        return self._virtual_selector.elapsed
