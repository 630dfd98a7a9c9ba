"""Finds the newest earlier passing attempt of a probe, to compare a failed one with."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from django.db.models import F

from dashboard.models import Attempt, Run


class MatchKind(StrEnum):
    """Which run has the passing attempt."""

    SAME_PROFILE = "same_profile"
    EARLIER_PROFILE = "earlier_profile"
    SAME_RUN = "same_run"


@dataclass(frozen=True, slots=True)
class LastPassing:
    attempt: Attempt
    run: Run
    kind: MatchKind


def find_last_passing(attempt: Attempt, run: Run) -> LastPassing | None:
    """The last passing attempt before this run, first of its profile; else one of this run."""
    earlier = Run.objects.filter(endpoint_id=run.endpoint_id, pk__lt=run.pk)
    same_profile, any_profile = earlier.filter(profile_id=run.profile_id), earlier
    for runs, kind in (
        (same_profile, MatchKind.SAME_PROFILE),
        (any_profile, MatchKind.EARLIER_PROFILE),
    ):
        # Reads both tables by their indexes, newest run first, and stops at the first pass.
        passing_run = (
            runs.filter(
                attempts__probe=attempt.probe,
                attempts__outcome="pass",
                attempts__run_at=F("created_at"),
            )
            .order_by("-pk")
            .first()
        )
        if passing_run is not None:
            return LastPassing(_passing_attempt(attempt, passing_run), passing_run, kind)
    siblings = Attempt.objects.of(run).filter(probe=attempt.probe, outcome="pass")
    sibling = siblings.exclude(trial=attempt.trial).order_by("-trial").first()
    return LastPassing(sibling, run, MatchKind.SAME_RUN) if sibling else None


def _passing_attempt(attempt: Attempt, run: Run) -> Attempt:
    """A passing attempt of a run; the same trial if it passed, since its prompt is alike."""
    passed = Attempt.objects.of(run).filter(probe=attempt.probe, outcome="pass")
    return passed.filter(trial=attempt.trial).first() or passed.order_by("-trial")[0]
