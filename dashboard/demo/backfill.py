"""The history of the simulated fleet, played by as many processes as there are cores."""

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

# A story that began earlier is played from here on only.
MAX_HISTORY = timedelta(days=30)


class PlaybackFailed(Exception):
    """A process that played the history ended before its time."""


def play_history(
    fleet: Sequence[FleetMember],
    *,
    began: datetime,
    until: datetime,
    seed: int = 0,
    processes: int | None = None,
) -> Generator[SimulatedRun, None, None]:
    """Every run of the fleet up to `until`; those of one endpoint come in the order of time.

    `began` is when the vendors' clock read nought. The same arguments give the same runs; only
    the order in which endpoints take turns depends on the machine.
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
    """A process that plays some of the fleet, one endpoint after the other."""

    def __init__(self, members: Sequence[FleetMember], span: PlaybackSpan) -> None:
        # Spawned, not forked: the parent may hold a database connection and threads.
        context = multiprocessing.get_context("spawn")
        self.runs, theirs = context.Pipe(duplex=False)
        self._process: SpawnProcess = context.Process(
            target=_play_all, args=(members, span, theirs), daemon=True
        )
        self._process.start()
        # The pipe ends with the process only if nobody else holds this end of it.
        theirs.close()

    def check(self) -> None:
        """The pipe has ended: see that the process ended well."""
        self._process.join()
        if self._process.exitcode:
            code = self._process.exitcode
            raise PlaybackFailed(f"A process that played the history ended with exit code {code}.")

    def end(self) -> None:
        self._process.terminate()
        self._process.join()
        self.runs.close()


def _gather_runs(players: Sequence[_PlayerProcess]) -> Iterator[SimulatedRun]:
    """Runs as they come. Nobody plays far ahead: a full pipe makes its process wait."""
    playing = {player.runs: player for player in players}
    while playing:
        for ready in wait(list(playing)):
            assert isinstance(ready, Connection)
            try:
                run: SimulatedRun = ready.recv()
            except EOFError:
                playing.pop(ready).check()
            else:
                yield run


def _play_all(members: Sequence[FleetMember], span: PlaybackSpan, runs: Connection) -> None:
    # Ctrl-C reaches the whole group; the parent is the one to end us.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(BrokenPipeError):
        for member in members:
            play_endpoint(member, span, runs.send)
    runs.close()
