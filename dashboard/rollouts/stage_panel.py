"""The rollout panel of an endpoint: its stage, and the conditions of the next one."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from dashboard.models import Endpoint, Profile, RolloutRequest
from dashboard.models.profile import Stage
from dashboard.rollouts.gate_conditions import DisplayedCondition, display_conditions
from dashboard.rollouts.text import stage_access, stage_name
from dashboard.trust import rollout_requests
from health import stages
from health.gates import GateResult


@dataclass(frozen=True, slots=True)
class StageStep:
    """A stage of the ladder, relative to the current one."""

    stage: str
    is_now: bool
    is_passed: bool

    @property
    def name(self) -> str:
        return stage_name(self.stage)


@dataclass(frozen=True, slots=True)
class StagePanel:
    """The current profile with its gate, and the profile that the policy follows."""

    endpoint: Endpoint
    profile: Profile
    in_force: Profile
    gate_result: GateResult
    pending: RolloutRequest | None

    @property
    def has_other_in_force(self) -> bool:
        """Whether the policy follows another profile than the one that is probed."""
        return self.profile.pk != self.in_force.pk

    @property
    def stage(self) -> str:
        return self.profile.stage

    @property
    def name(self) -> str:
        return stage_name(self.stage)

    @property
    def access(self) -> str:
        if self.has_other_in_force:
            text = _("It is probed. Callers follow profile {epoch} until this one is promoted.")
            return text.format(epoch=self.in_force.epoch)
        return stage_access(self.stage)

    @property
    def in_force_name(self) -> str:
        """The name of the stage that applies to callers."""
        return stage_name(self.in_force.stage)

    @property
    def steps(self) -> list[StageStep]:
        position = stages.ladder_position(self.stage)
        return [
            StageStep(stage, is_now=stage == self.stage, is_passed=number < position)
            for number, stage in enumerate(stages.LADDER)
        ]

    @property
    def next_name(self) -> str:
        """The name of the next stage; empty at the last one."""
        return stage_name(self.gate_result.next) if self.gate_result.next else ""

    @property
    def next_access(self) -> str:
        return stage_access(self.gate_result.next) if self.gate_result.next else ""

    @property
    def conditions(self) -> list[DisplayedCondition]:
        return display_conditions(self.gate_result.conditions, self.endpoint)

    @property
    def can_request(self) -> bool:
        return self.gate_result.is_met and self.pending is None

    @property
    def verdict(self) -> str:
        return gate_verdict(self.gate_result)

    @property
    def can_step_back(self) -> bool:
        """Whether a tighter stage exists, or the current profile can be rejected."""
        return stages.allows_tools(self.in_force.stage) or self.stage != Stage.REJECTED


def gate_verdict(gate_result: GateResult) -> str:
    """The result of a gate as a sentence."""
    if gate_result.next is None:
        return ""
    if gate_result.is_met:
        return _("All conditions are met: it may be asked for.")
    if gate_result.paused:
        return _("Paused: nothing speaks against it, but more trials have to settle it.")
    return _("Not yet: a condition is not met.")


def read_stage_panel(endpoint: Endpoint, profile: Profile) -> StagePanel:
    """`profile` is the current profile of the endpoint."""
    in_force = profile if profile.in_force else endpoint.profile_in_force
    requests = RolloutRequest.objects.pending().filter(profile=profile, switch=None)
    pending = requests.select_related("requested_by").first()
    gate_result = rollout_requests.read_gate_result(profile)
    return StagePanel(endpoint, profile, in_force, gate_result, pending)
