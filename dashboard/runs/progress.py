"""The progress of a run for pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Count, Q, Sum
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from dashboard.models import Attempt, Endpoint, Run
from dashboard.models.run import State
from dashboard.runs import text as probe_text
from probes.suite import SUITES

_STATE_LABELS: Mapping[State, Promise | str] = {
    State.QUEUED: _("Waiting for a worker"),
    State.LEASED: _("Starting"),
    State.RUNNING: _("Probing"),
    State.FINISHED: _("Finished"),
    State.FAILED: _("No verdict"),
    State.ABANDONED: _("Stopped"),
}
# With fewer attempts the remaining time cannot be estimated.
_MIN_ATTEMPTS_FOR_PACE = 3
DONE, NOW, WAITING = "done", "now", "waiting"


@dataclass(frozen=True, slots=True)
class ProbeStep:
    """One probe of an active run: its stored and planned attempts."""

    probe: str
    done: int
    planned: int
    failed: int
    state: str

    @property
    def question(self) -> str:
        return probe_text.probe_question(self.probe)


@dataclass(frozen=True, slots=True)
class PartialResults:
    """The results of an active run so far, from its stored attempts."""

    steps: tuple[ProbeStep, ...]
    passed: int
    failed: int
    void: int
    tokens: int | None  # None if no reply reported its usage


@dataclass(frozen=True, slots=True)
class Progress:
    """A run and how many of its attempts are stored."""

    run: Run
    done: int

    @property
    def version(self) -> str:
        """Changes with the state and the number of attempts."""
        return f"{self.run.pk}-{self.run.state}-{self.done}"

    @property
    def state_label(self) -> str:
        return str(_STATE_LABELS[State(self.run.state)])

    @property
    def remaining(self) -> timedelta | None:
        """The estimated time to the end of the run; None if it cannot be estimated yet."""
        if (
            self.run.started_at is None
            or self.done < _MIN_ATTEMPTS_FOR_PACE
            or self.run.state != State.RUNNING
        ):
            return None
        remaining = max(0, self.run.planned - self.done)
        return (timezone.now() - self.run.started_at) / self.done * remaining

    def read_partial_results(self) -> PartialResults:
        """The steps and counts of an active run, in one query."""
        rows = (
            Attempt.objects.of(self.run)
            .values("probe")
            .annotate(
                done=Count("trial"),
                passed=Count("trial", filter=Q(outcome="pass")),
                failed=Count("trial", filter=Q(outcome="fail")),
                void=Count("trial", filter=Q(outcome="void")),
                input_sum=Sum("input_tokens"),
                output_sum=Sum("output_tokens"),
            )
        )
        counts: dict[str, Mapping[str, Any]] = {row["probe"]: row for row in rows}
        sums = [row[name] for row in counts.values() for name in ("input_sum", "output_sum")]
        tokens = [tokens for tokens in sums if tokens is not None]
        return PartialResults(
            steps=tuple(_build_steps(self.run, counts)),
            passed=sum(row["passed"] for row in counts.values()),
            failed=sum(row["failed"] for row in counts.values()),
            void=sum(row["void"] for row in counts.values()),
            tokens=sum(tokens) if tokens else None,
        )


def read_run_progress(run: Run) -> Progress:
    return Progress(run, run.done)


def read_latest_progress(endpoint: Endpoint) -> Progress | None:
    """The active run, or else the last one; None before the first."""
    run = endpoint.runs.newest_first().first()
    return read_run_progress(run) if run else None


def _build_steps(run: Run, counts_by_probe: Mapping[str, Mapping[str, Any]]) -> Sequence[ProbeStep]:
    # Probes run in the order of the suite, up to the concurrency limit of the endpoint.
    free = run.endpoint.max_concurrency if run.state == State.RUNNING else 0
    steps: list[ProbeStep] = []
    for probe, planned in SUITES.get(run.suite, ()):
        done = counts_by_probe[probe]["done"] if probe in counts_by_probe else 0
        remaining = max(0, planned - done)
        state = DONE if not remaining else NOW if free > 0 else WAITING
        free -= remaining
        failed = counts_by_probe[probe]["failed"] if probe in counts_by_probe else 0
        steps.append(ProbeStep(probe, done, planned, failed, state))
    return steps
