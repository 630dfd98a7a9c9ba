"""The page of one request: the diff, the gate and the evidence it is bound to."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from dashboard.core.permissions import Actor, Right
from dashboard.models import Endpoint, Profile, RolloutRequest
from dashboard.rollouts import decision_rights, diff, evidence_diff, request_events, stage_panel
from dashboard.rollouts.diff import DiffLine
from dashboard.rollouts.evidence_diff import ChangeLine
from dashboard.rollouts.gate_conditions import (
    DisplayedCondition,
    display_conditions,
    display_stored_conditions,
)
from dashboard.rollouts.request_events import RequestEvent
from dashboard.rollouts.text import stage_access, stage_name
from dashboard.trust import gate_facts, policies, rollout_requests
from dashboard.trust.decision_evidence import EvidenceChange
from dashboard.trust.policy_renewal import current_policy
from health.gates import GateResult
from health.metric_names import metric_name
from health.modes import Mode, describe_mode
from health.rates import Rate, metric_rate
from probes.outcomes import Metric

# The page links to the newest runs and counts the others.
MAX_RUNS = 12
_SHORT_DIGEST_LENGTH = 16


@dataclass(frozen=True, slots=True)
class MetricComparison:
    """The rate of a metric in the profile in force and in the candidate."""

    metric: Metric
    before: Rate | None
    after: Rate | None
    address: str

    @property
    def name(self) -> str:
        return metric_name(self.metric)


@dataclass(frozen=True)
class RequestPage:
    """A request for one user, now."""

    request: RolloutRequest
    endpoint: Endpoint
    candidate: Profile
    # The profile that was in force at the time of the request; often the candidate itself.
    current: Profile
    # Changes of the evidence: until now if the request is pending, else until it was voided.
    changes: Sequence[ChangeLine]
    # Empty if the user may decide.
    cannot_decide_reason: str
    is_requester: bool
    may_withdraw: bool
    # Only for a pending request: the gate now, and the policies before and after an approval.
    gate_result: GateResult | None = None
    policy_before: Mapping[str, Any] | None = None
    policy_after: Mapping[str, Any] | None = None

    @property
    def is_pending(self) -> bool:
        return self.request.state == RolloutRequest.State.PENDING

    @property
    def is_stage(self) -> bool:
        return self.request.kind == RolloutRequest.Kind.STAGE

    @property
    def has_other_profile(self) -> bool:
        """Whether the candidate is compared with another profile."""
        return self.current.pk != self.candidate.pk

    @property
    def state_mark(self) -> str:
        """A digest that changes with everything a decision depends on."""
        facts = (self.request.state, list(self.changes), self.cannot_decide_reason)
        return hashlib.blake2b(repr(facts).encode(), digest_size=6).hexdigest()

    @property
    def question(self) -> str:
        slug = self.endpoint.slug
        if self.request.switch is not None:
            text = _("May {mode} be let go of on {slug}?")
            return text.format(mode=self.request.switch.mode, slug=slug)
        stages = {
            "before": stage_name(self.request.from_stage),
            "after": stage_name(self.request.to_stage),
        }
        if self.has_other_profile:
            text = _("May profile {epoch} of {slug} go from {before} to {after}?")
            return text.format(slug=slug, epoch=self.candidate.epoch, **stages)
        return _("May {slug} go from {before} to {after}?").format(slug=slug, **stages)

    @property
    def state_text(self) -> str:
        return request_events.describe_state(self.request)

    @property
    def events(self) -> list[RequestEvent]:
        return request_events.list_events(self.request)

    @property
    def verdict(self) -> str:
        return stage_panel.gate_verdict(self.gate_result) if self.gate_result else ""

    @property
    def conditions(self) -> Sequence[DisplayedCondition]:
        """As evaluated now if the request is pending, else as at the time of the request."""
        if self.gate_result is not None:
            return display_conditions(self.gate_result.conditions, self.endpoint)
        stored = self.request.evidence.get("conditions", ())
        return display_stored_conditions(stored, self.endpoint)

    @property
    def before_title(self) -> str:
        return diff.profile_title(self.current) if self.has_other_profile else _("Now")

    @property
    def after_title(self) -> str:
        return diff.profile_title(self.candidate) if self.has_other_profile else _("After approval")

    @cached_property
    def diff_lines(self) -> list[DiffLine]:
        keys = diff.diff_keys(self.current, self.candidate) if self.has_other_profile else []
        capabilities = self._capability_diff[0] if self.has_other_profile else []
        return [*self._stage_lines(), *keys, *self._policy_lines(), *capabilities]

    @property
    def unchanged_count(self) -> int:
        """The number of capabilities that do not differ."""
        return self._capability_diff[1] if self.has_other_profile else 0

    @property
    def losses(self) -> list[str]:
        """Warnings of what an approval takes away. Empty unless the request is pending."""
        if self.policy_before is None or self.policy_after is None:
            return []
        if losses := diff.describe_losses(self.policy_before, self.policy_after):
            return losses
        if not self.has_other_profile:
            return []
        return diff.describe_lower_stage(self.current.stage, self.request.to_stage)

    @property
    def effect(self) -> str:
        """The effect of an approval as a sentence."""
        if self.policy_after is None:
            return ""
        return _("After approval callers get {tools}.").format(
            tools=diff.describe_tools(self.policy_after)
        )

    @cached_property
    def figures(self) -> list[MetricComparison]:
        """Rates over all runs; those of the candidate are as at the time of the request."""
        candidate = self.request.evidence.get("figures", {})
        current = self._current_figures() if self.has_other_profile else {}
        endpoint_address = self.endpoint.get_absolute_url()
        return [
            MetricComparison(
                metric,
                _rate(metric, current.get(metric.value)),
                _rate(metric, candidate.get(metric.value)),
                f"{endpoint_address}?metric={metric.value}#chart",
            )
            for metric in Metric
            if metric.value in candidate or metric.value in current
        ]

    @property
    def bound_runs(self) -> list[int]:
        runs: list[int] = self.request.evidence.get("runs", [])
        return runs[-MAX_RUNS:][::-1]

    @property
    def more_runs(self) -> int:
        return max(len(self.request.evidence.get("runs", ())) - MAX_RUNS, 0)

    @property
    def suite(self) -> str:
        return str(self.request.evidence.get("suite_version", ""))

    @property
    def bound_modes(self) -> list[str]:
        modes: list[str] = self.request.evidence.get("modes", {}).get("effective", [])
        return modes

    @property
    def bound_options(self) -> str:
        """The request options that were measured; empty if there are none."""
        options = self.candidate.options
        return diff.format_json(options) if options else ""

    @property
    def digest(self) -> str:
        return bytes(self.request.digest).hex()

    @property
    def short_digest(self) -> str:
        return self.digest[:_SHORT_DIGEST_LENGTH]

    @property
    def mode_effect(self) -> str:
        return describe_mode(Mode(self.request.switch.mode)) if self.request.switch else ""

    def _current_figures(self) -> dict[str, dict[str, int]]:
        runs = gate_facts.finished_run_ids(self.current)
        return {
            metric.value: {"trials": figure.trials, "failures": figure.failures}
            for metric, figure in gate_facts.read_figures(self.current, runs).items()
        }

    def _stage_lines(self) -> list[DiffLine]:
        if not self.is_stage:
            return []
        after = self.request.to_stage
        before = self.request.evidence.get("in_force", {}).get("stage", self.request.from_stage)
        stage = DiffLine(_("Stage"), stage_name(before), stage_name(after))
        if self.policy_before is None or self.policy_after is None:
            return [stage, DiffLine(_("Callers"), stage_access(before), stage_access(after))]
        tools = diff.describe_tools(self.policy_before), diff.describe_tools(self.policy_after)
        return [stage, DiffLine(_("Callers get"), *tools)]

    def _policy_lines(self) -> list[DiffLine]:
        if self.policy_before is None or self.policy_after is None:
            return []
        policies = self.policy_before, self.policy_after
        before, after = (body.get("modes", {}).get("effective", []) for body in policies)
        return [diff.diff_modes(before, after), *diff.diff_policies(*policies)]

    @cached_property
    def _capability_diff(self) -> tuple[list[DiffLine], int]:
        candidate = self.request.evidence.get("capabilities", {})
        current = {name: each.get("value") for name, each in self.current.capabilities.items()}
        return diff.diff_capabilities(current, candidate)


def read_request_page(request: RolloutRequest, user: User, actor: Actor) -> RequestPage:
    endpoint, candidate = request.profile.endpoint, request.profile
    is_pending = request.state == RolloutRequest.State.PENDING
    policy = current_policy(endpoint.slug) if is_pending else None
    is_stage = request.kind == RolloutRequest.Kind.STAGE
    return RequestPage(
        request=request,
        endpoint=endpoint,
        candidate=candidate,
        current=_current_profile(request),
        changes=_evidence_changes(request),
        cannot_decide_reason=decision_rights.cannot_decide_reason(request, user, actor),
        is_requester=request.requested_by_id == user.pk,
        may_withdraw=is_pending and actor.may(Right.OPERATE, endpoint.team_id),
        gate_result=rollout_requests.read_gate_result(candidate)
        if is_pending and is_stage
        else None,
        policy_before=policy.body if policy else None,
        policy_after=_policy_after(request) if is_pending else None,
    )


def _current_profile(request: RolloutRequest) -> Profile:
    epoch = request.evidence.get("in_force", {}).get("epoch")
    if epoch in (None, request.profile.epoch):
        return request.profile
    profile = Profile.objects.filter(endpoint=request.profile.endpoint_id, epoch=epoch).first()
    return profile or request.profile


def _evidence_changes(request: RolloutRequest) -> list[ChangeLine]:
    if request.state == RolloutRequest.State.PENDING:
        return evidence_diff.describe_changes(rollout_requests.find_evidence_changes(request))
    return evidence_diff.describe_changes(EvidenceChange(*each) for each in request.changed)


def _policy_after(request: RolloutRequest) -> dict[str, Any]:
    stage = request.profile.stage if request.switch else request.to_stage
    return policies.preview_policy(request.profile, stage, without=request.switch)


def _rate(metric: Metric, counts: Mapping[str, Any] | None) -> Rate | None:
    if not counts or not counts["trials"]:
        return None
    return metric_rate(metric, counts["trials"], counts["failures"])
