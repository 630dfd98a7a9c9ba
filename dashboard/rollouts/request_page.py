"""What the page of one request reads: candidate against current, its gate, what it is bound to."""

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
from dashboard.rollouts import diff, evidence_diff, request_events, stage_panel, who_decides
from dashboard.rollouts.diff import Line
from dashboard.rollouts.evidence_diff import Difference
from dashboard.rollouts.gate_conditions import Shown, shown, told
from dashboard.rollouts.request_events import Moment
from dashboard.rollouts.text import allows, name_of
from dashboard.trust import gate_facts, policies, rollout_requests
from dashboard.trust.decision_evidence import EvidenceChange
from dashboard.trust.policy_renewal import current_policy
from health.gates import GateResult
from health.metric_names import metric_name
from health.modes import Mode, describe_mode
from health.rates import Rate, metric_rate
from probes.outcomes import Metric

# More runs than this are counted.
SHOWN_RUNS = 12
_SHORT = 16


@dataclass(frozen=True, slots=True)
class Measured:
    """A metric on both sides."""

    metric: Metric
    before: Rate | None
    after: Rate | None
    address: str

    @property
    def name(self) -> str:
        return metric_name(self.metric)


@dataclass(frozen=True)
class Look:
    """A request as one person sees it now."""

    request: RolloutRequest
    endpoint: Endpoint
    candidate: Profile
    # The profile that was in force when it was asked for; the candidate itself, mostly.
    current: Profile
    # What of its evidence differs: now while it waits, or what had ended it.
    changed: Sequence[Difference]
    # Empty where this person may decide.
    why_not: str
    is_mine: bool
    may_withdraw: bool
    # Only while it waits: later nobody can tell what would have been.
    standing: GateResult | None = None
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None

    @property
    def is_pending(self) -> bool:
        return self.request.state == RolloutRequest.State.PENDING

    @property
    def is_stage(self) -> bool:
        return self.request.kind == RolloutRequest.Kind.STAGE

    @property
    def has_two(self) -> bool:
        """Whether another profile is compared with the candidate."""
        return self.current.pk != self.candidate.pk

    @property
    def seen(self) -> str:
        """Changes when anything has moved that a decision depends on."""
        facts = (self.request.state, list(self.changed), self.why_not)
        return hashlib.blake2b(repr(facts).encode(), digest_size=6).hexdigest()

    @property
    def question(self) -> str:
        told = {"slug": self.endpoint.slug, "epoch": self.candidate.epoch}
        if self.request.switch is not None:
            said = _("May {mode} be let go of on {slug}?")
            return said.format(mode=self.request.switch.mode, **told)
        stages = {
            "before": name_of(self.request.from_stage),
            "after": name_of(self.request.to_stage),
        }
        if self.has_two:
            said = _("May profile {epoch} of {slug} go from {before} to {after}?")
            return said.format(**told, **stages)
        return _("May {slug} go from {before} to {after}?").format(**told, **stages)

    @property
    def finding(self) -> str:
        return request_events.finding(self.request)

    @property
    def moments(self) -> list[Moment]:
        return request_events.moments(self.request)

    @property
    def verdict(self) -> str:
        return stage_panel.verdict(self.standing) if self.standing else ""

    @property
    def conditions(self) -> Sequence[Shown]:
        """As they are judged now; of what is over, as they were judged when it was asked for."""
        if self.standing is not None:
            return shown(self.standing.conditions, self.endpoint)
        return told(self.request.evidence.get("conditions", ()), self.endpoint)

    @property
    def left(self) -> str:
        return diff.title(self.current) if self.has_two else _("Now")

    @property
    def right(self) -> str:
        return diff.title(self.candidate) if self.has_two else _("After approval")

    @cached_property
    def lines(self) -> list[Line]:
        keys = diff.keys(self.current, self.candidate) if self.has_two else []
        differing = self._capabilities[0] if self.has_two else []
        return [*self._stages(), *keys, *self._policies(), *differing]

    @property
    def same(self) -> int:
        return self._capabilities[1] if self.has_two else 0

    @property
    def losses(self) -> list[str]:
        """What an approval takes away; nobody can tell any more once it is decided."""
        if self.before is None or self.after is None:
            return []
        found = diff.losses(self.before, self.after)
        held, to = self.current.stage, self.request.to_stage
        return found or (diff.lowered(held, to) if self.has_two else [])

    @property
    def effect(self) -> str:
        """What an approval does, in one sentence."""
        if self.after is None:
            return ""
        return _("After approval callers get {tools}.").format(tools=diff.tools(self.after))

    @cached_property
    def figures(self) -> list[Measured]:
        """All runs of a profile together, with their trials; the candidate's as it was asked on."""
        mine = self.request.evidence.get("figures", {})
        theirs = self._current_figures() if self.has_two else {}
        chart = self.endpoint.get_absolute_url()
        return [
            Measured(
                metric,
                _rate(metric, theirs.get(metric.value)),
                _rate(metric, mine.get(metric.value)),
                f"{chart}?metric={metric.value}#chart",
            )
            for metric in Metric
            if metric.value in mine or metric.value in theirs
        ]

    @property
    def bound_runs(self) -> list[int]:
        runs: list[int] = self.request.evidence.get("runs", [])
        return runs[-SHOWN_RUNS:][::-1]

    @property
    def more_runs(self) -> int:
        return max(len(self.request.evidence.get("runs", ())) - SHOWN_RUNS, 0)

    @property
    def suite(self) -> str:
        return str(self.request.evidence.get("suite_version", ""))

    @property
    def bound_modes(self) -> list[str]:
        modes: list[str] = self.request.evidence.get("modes", {}).get("effective", [])
        return modes

    @property
    def digest(self) -> str:
        return bytes(self.request.digest).hex()

    @property
    def short_digest(self) -> str:
        return self.digest[:_SHORT]

    @property
    def mode_effect(self) -> str:
        return describe_mode(Mode(self.request.switch.mode)) if self.request.switch else ""

    def _current_figures(self) -> dict[str, dict[str, int]]:
        runs = gate_facts.finished_run_ids(self.current)
        return {
            metric.value: {"trials": figure.trials, "failures": figure.failures}
            for metric, figure in gate_facts.read_figures(self.current, runs).items()
        }

    def _stages(self) -> list[Line]:
        if not self.is_stage:
            return []
        held = self.request.evidence.get("in_force", {}).get("stage", self.request.from_stage)
        found = [Line(_("Stage"), name_of(held), name_of(self.request.to_stage))]
        if self.before is None or self.after is None:
            return [*found, Line(_("Callers"), allows(held), allows(self.request.to_stage))]
        now, then = diff.tools(self.before), diff.tools(self.after)
        return [*found, Line(_("Callers get"), now, then)]

    def _policies(self) -> list[Line]:
        if self.before is None or self.after is None:
            return []
        on = [body.get("modes", {}).get("effective", []) for body in (self.before, self.after)]
        differing = diff.policies(self.before, self.after)
        return [diff.modes(*on), *differing]

    @cached_property
    def _capabilities(self) -> tuple[list[Line], int]:
        mine = self.request.evidence.get("capabilities", {})
        theirs = {name: each.get("value") for name, each in self.current.capabilities.items()}
        return diff.capabilities(theirs, mine)


def read(request: RolloutRequest, user: User, actor: Actor) -> Look:
    """The request with all that a decision on it needs."""
    endpoint, candidate = request.profile.endpoint, request.profile
    is_pending = request.state == RolloutRequest.State.PENDING
    is_mine = request.requested_by_id == user.pk
    policy = current_policy(endpoint.slug) if is_pending else None
    is_stage = request.kind == RolloutRequest.Kind.STAGE
    return Look(
        request=request,
        endpoint=endpoint,
        candidate=candidate,
        current=_current(request),
        changed=_changed(request),
        why_not=who_decides.why_not(request, user, actor),
        is_mine=is_mine,
        may_withdraw=is_pending and actor.may(Right.OPERATE, endpoint.team_id),
        standing=rollout_requests.read_gate_result(candidate) if is_pending and is_stage else None,
        before=policy.body if policy else None,
        after=_after(request) if is_pending else None,
    )


def _current(request: RolloutRequest) -> Profile:
    epoch = request.evidence.get("in_force", {}).get("epoch")
    if epoch in (None, request.profile.epoch):
        return request.profile
    found = Profile.objects.filter(endpoint=request.profile.endpoint_id, epoch=epoch).first()
    return found or request.profile


def _changed(request: RolloutRequest) -> list[Difference]:
    if request.state == RolloutRequest.State.PENDING:
        return evidence_diff.told(rollout_requests.find_evidence_changes(request))
    return evidence_diff.told(EvidenceChange(*each) for each in request.changed)


def _after(request: RolloutRequest) -> dict[str, Any]:
    stage = request.profile.stage if request.switch else request.to_stage
    return policies.preview_policy(request.profile, stage, without=request.switch)


def _rate(metric: Metric, found: Mapping[str, Any] | None) -> Rate | None:
    if not found or not found["trials"]:
        return None
    return metric_rate(metric, found["trials"], found["failures"])
