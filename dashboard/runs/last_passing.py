"""The newest earlier attempt of the same probe that passed: what a failed one is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from django.db.models import F

from dashboard.models import Attempt, Run


class Kind(StrEnum):
    """How near the good attempt is to the one it is compared with."""

    SAME_PROFILE = "same_profile"
    EARLIER_PROFILE = "earlier_profile"
    SAME_RUN = "same_run"


@dataclass(frozen=True, slots=True)
class LastGood:
    attempt: Attempt
    run: Run
    kind: Kind


def of(attempt: Attempt, run: Run) -> LastGood | None:
    """The last good one before this run, of the same profile if there is any; else of this run."""
    earlier = Run.objects.filter(endpoint_id=run.endpoint_id, pk__lt=run.pk)
    same, other = earlier.filter(profile_id=run.profile_id), earlier
    for runs, kind in ((same, Kind.SAME_PROFILE), (other, Kind.EARLIER_PROFILE)):
        # Both tables by their indexes, newest run first, up to the first that passed.
        found = (
            runs.filter(
                attempts__probe=attempt.probe,
                attempts__outcome="pass",
                attempts__run_at=F("created_at"),
            )
            .order_by("-pk")
            .first()
        )
        if found is not None:
            return LastGood(_passed(attempt, found), found, kind)
    here = Attempt.objects.of(run).filter(probe=attempt.probe, outcome="pass")
    beside = here.exclude(trial=attempt.trial).order_by("-trial").first()
    return LastGood(beside, run, Kind.SAME_RUN) if beside else None


def _passed(attempt: Attempt, run: Run) -> Attempt:
    """A good attempt of a run: the same trial where it passed, since it asks alike."""
    passed = Attempt.objects.of(run).filter(probe=attempt.probe, outcome="pass")
    return passed.filter(trial=attempt.trial).first() or passed.order_by("-trial")[0]
