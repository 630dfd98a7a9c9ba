"""The progress bar of a measurement."""

from __future__ import annotations

import sys
from collections import Counter
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from probes.measurement import MeasurementPlan
from probes.outcomes import Attempt, Outcome
from probes.target import Target


class Progress:
    """A bar on standard error; hidden if that is not a terminal."""

    def __init__(self, target: Target, plan: MeasurementPlan) -> None:
        console = Console(file=sys.stderr)
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("[dim]{task.fields[outcomes]}"),
            TimeElapsedColumn(),
            console=console,
            # Not the console's own guess, which FORCE_COLOR in a CI job overrides.
            disable=not sys.stderr.isatty(),
            transient=True,
        )
        name = target.model.replace("[", r"\[")
        self._task = self._bar.add_task(f"Probing {name}", total=len(plan.trials), outcomes="")
        self._seen: Counter[Outcome] = Counter()
        self._total = len(plan.trials)

    def __enter__(self) -> Self:
        self._bar.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bar.__exit__(kind, error, traceback)

    def show(self, attempt: Attempt) -> None:
        """Count one more attempt."""
        self._seen[attempt.outcome] += 1
        # Probes whose answers differ are repeated more often than planned.
        self._total = max(self._total, sum(self._seen.values()))
        outcomes = ", ".join(f"{count} {outcome}" for outcome, count in self._seen.items())
        self._bar.update(self._task, advance=1, total=self._total, outcomes=outcomes)
