"""Plays the history of the simulated fleet in one process per core."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

from dashboard.demo.demo_fleet import FleetMember
from dashboard.demo.player import PlaybackSpan, SimulatedRun, play_endpoint

# Older parts of a story are not played.
MAX_HISTORY = timedelta(days=30)


class PlaybackFailed(Exception):
    """A process that played the history ended early."""


def play_history(
    fleet: Sequence[FleetMember],
    *,
    began: datetime,
    until: datetime,
    seed: int = 0,
    processes: int | None = None,
) -> Generator[SimulatedRun, None, None]:
    """Yield all runs of the fleet until `until`, those of one endpoint in chronological order.

    `began` is time 0 of the vendors' clock. The same arguments give the same runs; only the
    interleaving of the endpoints depends on the machine.
    """
    span = PlaybackSpan(began, max(began, until - MAX_HISTORY), until, seed)
    count = max(1, min(processes or os.cpu_count() or 1, len(fleet)))
    players = [_PlayerProcess(fleet[number::count], span) for number in range(count)]
    try:
        yield from _gather_runs(players)
    finally:
        for player in players:
            player.end()


class _PlayerProcess:
    """A process that plays some endpoints of the fleet, one after the other."""

    def __init__(self, members: Sequence[FleetMember], span: PlaybackSpan) -> None:
        # Spawned, not forked: the parent may hold a database connection and threads.
        context = multiprocessing.get_context("spawn")
        self.runs, sender = context.Pipe(duplex=False)
        self._process: SpawnProcess = context.Process(
            target=_play_all, args=(members, span, sender), daemon=True
        )
        self._process.start()
        # The pipe ends with the process only if no other process holds this end of it.
        sender.close()

    def check(self) -> None:
        """Raise if the process failed. Called after its pipe ended."""
        self._process.join()
        if self._process.exitcode:
            code = self._process.exitcode
            raise PlaybackFailed(f"A process that played the history ended with exit code {code}.")

    def end(self) -> None:
        self._process.terminate()
        self._process.join()
        self.runs.close()


def _gather_runs(players: Sequence[_PlayerProcess]) -> Iterator[SimulatedRun]:
    """Yield runs as they arrive. A full pipe blocks its process, so none is far ahead."""
    active = {player.runs: player for player in players}
    while active:
        for connection in wait(list(active)):
            assert isinstance(connection, Connection)
            try:
                run: SimulatedRun = connection.recv()
            except EOFError:
                active.pop(connection).check()
            else:
                yield run


def _play_all(members: Sequence[FleetMember], span: PlaybackSpan, runs: Connection) -> None:
    # Ctrl-C reaches the whole process group; the parent terminates this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(BrokenPipeError):
        for member in members:
            play_endpoint(member, span, runs.send)
    runs.close()
