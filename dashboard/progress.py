"""How far a run has come."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.models import Endpoint, Run
from dashboard.models.run import State

_WORDS = {
    State.QUEUED: "Waiting for a worker",
    State.LEASED: "Starting",
    State.RUNNING: "Probing",
    State.FINISHED: "Finished",
    State.FAILED: "No verdict",
    State.ABANDONED: "Stopped",
}


@dataclass(frozen=True, slots=True)
class Progress:
    """A run and how many of its attempts are stored."""

    run: Run
    done: int

    @property
    def seen(self) -> str:
        """Changes whenever the run has moved."""
        return f"{self.run.pk}-{self.run.state}-{self.done}"

    @property
    def state_words(self) -> str:
        return _WORDS[State(self.run.state)]


def of_run(run: Run) -> Progress:
    """How far this run has come: one row tells."""
    return Progress(run, run.done)


def of_latest(endpoint: Endpoint) -> Progress | None:
    """The run under way, else the last one; None before the first."""
    run = endpoint.runs.newest_first().first()
    return of_run(run) if run else None
