"""How far a run has come."""

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
from dashboard.runs import text as probe_words
from probes.suite import SUITES

_WORDS: Mapping[State, Promise | str] = {
    State.QUEUED: _("Waiting for a worker"),
    State.LEASED: _("Starting"),
    State.RUNNING: _("Probing"),
    State.FINISHED: _("Finished"),
    State.FAILED: _("No verdict"),
    State.ABANDONED: _("Stopped"),
}
# Fewer attempts than this tell nothing about the pace.
_ENOUGH = 3
DONE, NOW, WAITING = "done", "now", "waiting"


@dataclass(frozen=True, slots=True)
class Step:
    """One probe of a run under way: how many of its attempts are stored, how many are planned."""

    probe: str
    done: int
    planned: int
    failed: int
    state: str

    @property
    def question(self) -> str:
        return probe_words.question(self.probe)


@dataclass(frozen=True, slots=True)
class SoFar:
    """What a run under way has come to, from the attempts that are stored."""

    steps: tuple[Step, ...]
    passed: int
    failed: int
    void: int
    tokens: int | None  # None where no answer has told any

    @property
    def now(self) -> list[Step]:
        return [step for step in self.steps if step.state == NOW]


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
        return str(_WORDS[State(self.run.state)])

    @property
    def remaining(self) -> timedelta | None:
        """How long the rest takes at the pace of this run; None where that cannot be told yet."""
        if self.run.started_at is None or self.done < _ENOUGH or self.run.state != State.RUNNING:
            return None
        left = max(0, self.run.planned - self.done)
        return (timezone.now() - self.run.started_at) / self.done * left

    def so_far(self) -> SoFar:
        """The steps and figures of a run under way, in one query."""
        counted = (
            Attempt.objects.of(self.run)
            .values("probe")
            .annotate(
                done=Count("trial"),
                passed=Count("trial", filter=Q(outcome="pass")),
                failed=Count("trial", filter=Q(outcome="fail")),
                void=Count("trial", filter=Q(outcome="void")),
                read=Sum("input_tokens"),
                written=Sum("output_tokens"),
            )
        )
        found: dict[str, Mapping[str, Any]] = {each["probe"]: each for each in counted}
        told = [each[name] for each in found.values() for name in ("read", "written")]
        tokens = [count for count in told if count is not None]
        return SoFar(
            steps=tuple(_steps(self.run, found)),
            passed=sum(each["passed"] for each in found.values()),
            failed=sum(each["failed"] for each in found.values()),
            void=sum(each["void"] for each in found.values()),
            tokens=sum(tokens) if tokens else None,
        )


def of_run(run: Run) -> Progress:
    """How far this run has come: one row tells."""
    return Progress(run, run.done)


def of_latest(endpoint: Endpoint) -> Progress | None:
    """The run under way, else the last one; None before the first."""
    run = endpoint.runs.newest_first().first()
    return of_run(run) if run else None


def _steps(run: Run, found: Mapping[str, Mapping[str, Any]]) -> Sequence[Step]:
    # Questions are sent in the order of the suite, as many at once as the endpoint allows.
    free = run.endpoint.max_concurrency if run.state == State.RUNNING else 0
    steps: list[Step] = []
    for probe, planned in SUITES.get(run.suite, ()):
        done = found[probe]["done"] if probe in found else 0
        left = max(0, planned - done)
        state = DONE if not left else NOW if free > 0 else WAITING
        free -= left
        failed = found[probe]["failed"] if probe in found else 0
        steps.append(Step(probe, done, planned, failed, state))
    return steps
