"""How far an endpoint is trusted: its stage, what that allows, what speaks against the next one."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from dashboard.models import Endpoint, Profile, RolloutRequest
from dashboard.models.profile import Stage
from dashboard.rollouts import text as stage_words
from dashboard.rollouts.gate_conditions import Shown, shown
from dashboard.trust import rollout_requests
from health import stages
from health.gates import GateResult


@dataclass(frozen=True, slots=True)
class Step:
    """One rung of the ladder."""

    stage: str
    is_now: bool
    is_passed: bool

    @property
    def name(self) -> str:
        return stage_words.name_of(self.stage)


@dataclass(frozen=True, slots=True)
class Panel:
    """Where the profile of the present key stands, and which profile the policy follows."""

    endpoint: Endpoint
    profile: Profile
    in_force: Profile
    standing: GateResult
    pending: RolloutRequest | None

    @property
    def waits_beside(self) -> bool:
        """Whether the policy follows another profile than the one that is probed."""
        return self.profile.pk != self.in_force.pk

    @property
    def stage(self) -> str:
        return self.profile.stage

    @property
    def name(self) -> str:
        return stage_words.name_of(self.stage)

    @property
    def allows(self) -> str:
        if self.waits_beside:
            said = _("It is probed. Callers follow profile {epoch} until this one is promoted.")
            return said.format(epoch=self.in_force.epoch)
        return stage_words.allows(self.stage)

    @property
    def trusted(self) -> str:
        """The name of the stage that callers feel."""
        return stage_words.name_of(self.in_force.stage)

    @property
    def steps(self) -> list[Step]:
        place = stages.ladder_position(self.stage)
        return [
            Step(stage, is_now=stage == self.stage, is_passed=number < place)
            for number, stage in enumerate(stages.LADDER)
        ]

    @property
    def next(self) -> str:
        """The name of the next stage; empty at the top."""
        return stage_words.name_of(self.standing.next) if self.standing.next else ""

    @property
    def next_allows(self) -> str:
        return stage_words.allows(self.standing.next) if self.standing.next else ""

    @property
    def needs(self) -> list[Shown]:
        return shown(self.standing.conditions, self.endpoint)

    @property
    def may_be_asked(self) -> bool:
        return self.standing.is_met and self.pending is None

    @property
    def verdict(self) -> str:
        """What the conditions come to, in one sentence."""
        return verdict(self.standing)

    @property
    def can_step_back(self) -> bool:
        """Whether what is in force could allow less, or the present profile be rejected."""
        return stages.allows_tools(self.in_force.stage) or self.stage != Stage.REJECTED


def verdict(standing: GateResult) -> str:
    """What the conditions of a gate come to, in one sentence."""
    if standing.next is None:
        return ""
    if standing.is_met:
        return _("All conditions are met: it may be asked for.")
    if standing.paused:
        return _("Paused: nothing speaks against it, but more trials have to settle it.")
    return _("Not yet: a condition is not met.")


def read(endpoint: Endpoint, profile: Profile) -> Panel:
    """The panel of the profile of the present key."""
    in_force = profile if profile.in_force else endpoint.profile_in_force
    asked = RolloutRequest.objects.pending().filter(profile=profile, switch=None)
    pending = asked.select_related("requested_by").first()
    return Panel(endpoint, profile, in_force, rollout_requests.standing(profile), pending)
