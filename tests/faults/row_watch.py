"""Samples the rows continuously, to catch violations that do not last."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any, LiteralString, Self

import psycopg

from tests.faults.invariants import never_two_active_runs
from tests.faults.stack import QUICK

INTERVAL_SECONDS = 0.4


class Watch:
    """Samples a database until it is closed; waits for a server that is down."""

    def __init__(self, url: str, *, cap: int = int(QUICK["PROVIDER_RUNS"])) -> None:
        self.samples = 0
        self.most_at_once = 0
        self._cap = cap
        self.violations: list[str] = []
        self._url = url
        self._attempts: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        self._ended: dict[int, tuple[Any, ...]] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._loop, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopping.set()
        self._thread.join()

    def _loop(self) -> None:
        while not self._stopping.is_set():
            try:
                with psycopg.connect(self._url, autocommit=True) as connection:
                    while not self._stopping.wait(INTERVAL_SECONDS):
                        self._sample(connection)
            except psycopg.OperationalError:
                # The server is being restarted; that is what the test is about.
                self._stopping.wait(INTERVAL_SECONDS)

    def _sample(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        self.violations += never_two_active_runs(connection)
        (at_once,) = connection.execute(_UNDER_WAY).fetchone() or (0,)
        self.most_at_once = max(self.most_at_once, at_once)
        if at_once > self._cap:
            self.violations.append(
                f"{at_once} runs of a provider at once, and {self._cap} are allowed"
            )
        self._compare(self._attempts, "attempt", _split(connection, _ATTEMPTS, 3))
        self._compare(self._ended, "ended run", _split(connection, _ENDED, 1))
        self.samples += 1

    def _compare(self, known: dict[Any, Any], kind: str, now: dict[Any, Any]) -> None:
        """Check that stored rows stay: no attempt is overwritten, no ended run comes back."""
        self.violations += [
            f"{kind} {key} was {known[key]} and became {now.get(key)}"
            for key in known
            if now.get(key) != known[key]
        ]
        known.clear()
        known.update(now)


def _split(
    connection: psycopg.Connection[tuple[Any, ...]], statement: LiteralString, width: int
) -> dict[Any, Any]:
    return {row[:width]: row[width:] for row in connection.execute(statement)}


_UNDER_WAY: LiteralString = """
SELECT count(*) FROM dashboard_run WHERE state IN ('leased', 'running')
GROUP BY provider ORDER BY 1 DESC LIMIT 1
"""

_ATTEMPTS: LiteralString = (
    "SELECT run_id, probe, trial, token, created_at, outcome FROM dashboard_attempt"
)

_ENDED: LiteralString = """
SELECT id, state, finished_at, passed, failed, void FROM dashboard_run
WHERE finished_at IS NOT NULL
"""
