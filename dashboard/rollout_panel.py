"""How far an endpoint is trusted: its stage, what that allows, what speaks against the next one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from dashboard.figure_words import shown
from dashboard.models import Profile
from dashboard.models.profile import Stage
from dashboard.watch_table import Watched
from health.detector import Known
from health.severity import GATES

LADDER = (Stage.SHADOW, Stage.READ_ONLY, Stage.WRITE, Stage.FULL)
NAMED = {
    Stage.SHADOW: gettext_lazy("Shadow"),
    Stage.READ_ONLY: gettext_lazy("Read only"),
    Stage.WRITE: gettext_lazy("Write"),
    Stage.FULL: gettext_lazy("Full"),
    Stage.REJECTED: gettext_lazy("Rejected"),
    Stage.ROLLED_BACK: gettext_lazy("Rolled back"),
}
_ALLOWS = {
    Stage.SHADOW: gettext_lazy("It is probed. Callers get no tools."),
    Stage.READ_ONLY: gettext_lazy("Callers may use tools that read."),
    Stage.WRITE: gettext_lazy("Callers may use tools that read or write."),
    Stage.FULL: gettext_lazy("Callers may use every tool."),
    Stage.REJECTED: gettext_lazy("It was rejected. Callers get no tools."),
    Stage.ROLLED_BACK: gettext_lazy("It was stepped back. Callers may use tools that read."),
}
# Where the way up begins again for those beside the ladder.
_FROM = {Stage.REJECTED: Stage.SHADOW, Stage.ROLLED_BACK: Stage.READ_ONLY}


@dataclass(frozen=True, slots=True)
class Step:
    """One rung of the ladder."""

    stage: Stage
    is_now: bool
    is_passed: bool

    @property
    def name(self) -> str:
        return str(NAMED[self.stage])


@dataclass(frozen=True, slots=True)
class Need:
    """Something that the next stage rests on, and whether it is there."""

    words: str
    is_met: bool


@dataclass(frozen=True, slots=True)
class Panel:
    """Where a profile stands."""

    stage: Stage
    needs: tuple[Need, ...]

    @property
    def name(self) -> str:
        return str(NAMED[self.stage])

    @property
    def allows(self) -> str:
        return str(_ALLOWS[self.stage])

    @property
    def steps(self) -> list[Step]:
        place = LADDER.index(_FROM.get(self.stage, self.stage))
        return [
            Step(stage, is_now=stage is self.stage, is_passed=number < place)
            for number, stage in enumerate(LADDER)
        ]

    @property
    def next(self) -> str:
        """The name of the next stage; empty at the top."""
        place = LADDER.index(_FROM.get(self.stage, self.stage)) + 1
        return str(NAMED[LADDER[place]]) if place < len(LADDER) else ""

    @property
    def next_allows(self) -> str:
        place = LADDER.index(_FROM.get(self.stage, self.stage)) + 1
        return str(_ALLOWS[LADDER[place]]) if place < len(LADDER) else ""

    @property
    def missing(self) -> int:
        return sum(not need.is_met for need in self.needs)


def read(
    profile: Profile, policy: Mapping[str, Any], opened: int, watched: Sequence[Watched]
) -> Panel:
    """The panel of a profile; `opened` incidents are open, `watched` says how each metric does."""
    return Panel(Stage(profile.stage), tuple(_needs(profile, policy, opened, watched)))


def _needs(
    profile: Profile, policy: Mapping[str, Any], opened: int, watched: Sequence[Watched]
) -> list[Need]:
    known = policy.get("baseline") not in (None, Known.NONE.value)
    fresh = profile.verified_at is not None and not policy.get("stale")
    return [
        Need(_measured(profile, fresh=fresh), fresh),
        Need(
            _("It is known what is normal for it.")
            if known
            else _("Too few trials were made to know what is normal for it."),
            known,
        ),
        Need(_incidents(opened), not opened),
        *(_gate(row) for row in watched if row.metric in GATES),
    ]


def _measured(profile: Profile, *, fresh: bool) -> str:
    if fresh:
        return _("Its capabilities were measured, and not long ago.")
    if profile.verified_at is None:
        return _("Its capabilities were not measured yet: a full run does it.")
    return _("What was measured is too old: a run makes it fresh.")


def _incidents(opened: int) -> str:
    if not opened:
        return _("No incident is open.")
    said = ngettext("{count} incident is open.", "{count} incidents are open.", opened)
    return said.format(count=opened)


def _gate(row: Watched) -> Need:
    """Whether the last run lies on the good side of the gate of a metric."""
    gate, rate = GATES[row.metric], row.last
    words = {"metric": row.name, "gate": f"{shown(row.metric, gate):.0%}"}
    if rate is None:
        said = _("{metric}: no data in the last run; the gate is at {gate}.")
        return Need(said.format(**words), is_met=False)
    said = _("{metric}: {count} of {trials} ({rate}) in the last run; the gate is at {gate}.")
    figures = {"count": rate.count, "trials": rate.trials, "rate": f"{rate.value:.0%}"}
    return Need(said.format(**words, **figures), shown(row.metric, rate.value or 0.0) >= gate)
