from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine
from typing import Any

from django.db import OperationalError

from dashboard.runs.progress_stream import ProgressBroadcaster, ProgressSnapshot


class Runs:
    """The progress of runs, set by a test; every read is counted."""

    def __init__(self, **states: ProgressSnapshot) -> None:
        self.snapshots = {int(name.removeprefix("run")): s for name, s in states.items()}
        self.looks: list[set[int]] = []
        self.is_down = False

    def read(self, run_ids: Collection[int]) -> dict[int, ProgressSnapshot]:
        self.looks.append(set(run_ids))
        if self.is_down:
            raise OperationalError
        return {run: s for run, s in self.snapshots.items() if run in run_ids}


def at(done: int, state: str = "running") -> ProgressSnapshot:
    return ProgressSnapshot(state, done, planned=9, passed=done, failed=0, void=0)


def test_a_watcher_sees_every_move_and_the_end() -> None:
    """The current progress at once, then every change, and nothing after the end."""
    runs = Runs(run1=at(0))
    broadcaster = _broadcaster(runs)

    async def story() -> list[ProgressSnapshot | None]:
        seen = []
        async for snapshot in broadcaster.watch(1):
            seen.append(snapshot)
            following = {at(0): at(1), at(1): at(9, "finished")}
            assert snapshot is not None
            runs.snapshots[1] = following.get(snapshot, snapshot)
        return seen

    assert _run(story()) == [at(0), at(1), at(9, "finished")]


def test_what_has_not_moved_is_not_told_again() -> None:
    """Reads without a change send nothing to the watcher."""
    runs = Runs(run1=at(3))
    broadcaster = _broadcaster(runs)

    async def story() -> list[ProgressSnapshot | None]:
        watching = broadcaster.watch(1)
        seen = [await anext(watching)]
        await _until(lambda: len(runs.looks) > 5)
        runs.snapshots[1] = at(9, "failed")
        return seen + [snapshot async for snapshot in watching]

    assert _run(story()) == [at(3), at(9, "failed")]


def test_fifty_watchers_cost_as_many_looks_as_one() -> None:
    """One read covers all watched runs, however many watchers there are."""
    runs = Runs(run1=at(1), run2=at(2))
    broadcaster = ProgressBroadcaster(runs.read, interval_s=3600)

    async def story() -> list[ProgressSnapshot | None]:
        watchings = [broadcaster.watch(1 + number % 2) for number in range(50)]
        return await asyncio.gather(*(anext(watching) for watching in watchings))

    assert _run(story()) == [at(1), at(2)] * 25
    assert runs.looks == [{1, 2}]


def test_looking_stops_when_nobody_watches() -> None:
    """Without watchers there are no reads."""
    runs = Runs(run1=at(1))
    broadcaster = _broadcaster(runs)

    async def story() -> list[bool]:
        reading = [broadcaster.is_polling]
        watching = broadcaster.watch(1)
        await anext(watching)
        reading.append(broadcaster.is_polling)
        await watching.aclose()
        await _until(lambda: not broadcaster.is_polling)
        looks = len(runs.looks)
        await asyncio.sleep(0.05)
        return [*reading, len(runs.looks) > looks]

    assert _run(story()) == [False, True, False]


def test_watching_begins_anew_after_a_pause() -> None:
    """A watcher after a pause is served like the first."""
    broadcaster = _broadcaster(Runs(run1=at(9, "finished")))

    async def story() -> list[ProgressSnapshot | None]:
        first = [snapshot async for snapshot in broadcaster.watch(1)]
        await _until(lambda: not broadcaster.is_polling)
        return first + [snapshot async for snapshot in broadcaster.watch(1)]

    assert _run(story()) == [at(9, "finished")] * 2


def test_silence_is_broken_by_a_heartbeat() -> None:
    """A proxy must see that the stream is alive, even if a run makes no progress."""
    broadcaster = ProgressBroadcaster(Runs(run1=at(1)).read, interval_s=0.001, heartbeat_s=0.01)

    async def story() -> list[ProgressSnapshot | None]:
        watching = broadcaster.watch(1)
        while await anext(watching) is None:
            pass
        return [await anext(watching) for _ in range(2)]

    assert _run(story()) == [None, None]


def test_a_run_that_vanishes_ends_the_stream() -> None:
    """The stream of a deleted run ends."""
    broadcaster = _broadcaster(Runs())

    async def story() -> list[ProgressSnapshot | None]:
        return [snapshot async for snapshot in broadcaster.watch(1)]

    assert _run(story()) == []


def test_a_database_that_is_down_for_a_while_ends_nothing() -> None:
    """Watchers wait until it is back."""
    runs = Runs(run1=at(9, "finished"))
    runs.is_down = True
    broadcaster = _broadcaster(runs)

    async def story() -> list[ProgressSnapshot | None]:
        watching = broadcaster.watch(1)
        first = asyncio.ensure_future(anext(watching))
        await _until(lambda: len(runs.looks) > 2)
        runs.is_down = False
        return [await first]

    assert _run(story()) == [at(9, "finished")]


def test_a_fault_of_ours_ends_the_streams() -> None:
    """Streams end if the reader fails; the next watcher starts it again."""
    runs = Runs(run1=at(9, "finished"))
    failing = [True]

    def read(run_ids: Collection[int]) -> dict[int, ProgressSnapshot]:
        if failing.pop() if failing else False:
            raise RuntimeError
        return runs.read(run_ids)

    broadcaster = ProgressBroadcaster(read, interval_s=0.001)

    async def story() -> list[ProgressSnapshot | None]:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        first = [snapshot async for snapshot in broadcaster.watch(1)]
        return first + [snapshot async for snapshot in broadcaster.watch(1)]

    assert _run(story()) == [at(9, "finished")]


def test_a_board_is_full_at_its_limit() -> None:
    """A watcher that leaves makes room for another."""
    broadcaster = ProgressBroadcaster(Runs(run1=at(1)).read, interval_s=0.001, max_watchers=2)

    async def story() -> list[bool]:
        watchings = [broadcaster.watch(1), broadcaster.watch(1)]
        full = [broadcaster.is_full]
        for watching in watchings:
            await anext(watching)
            full.append(broadcaster.is_full)
        await watchings[0].aclose()
        return [*full, broadcaster.is_full]

    assert _run(story()) == [False, False, True, False]


def _broadcaster(runs: Runs) -> ProgressBroadcaster:
    return ProgressBroadcaster(runs.read, interval_s=0.001)


def _run(story: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(story)


async def _until(claim: Callable[[], bool]) -> None:
    while not claim():
        await asyncio.sleep(0.001)
