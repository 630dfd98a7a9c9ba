"""Queries of the rollouts page: pending requests, promotion candidates and past requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.core.permissions import Actor, Right
from dashboard.core.query_form import QueryFilter, QueryForm, choice_field, text_field
from dashboard.models import Endpoint, Profile, RolloutRequest
from dashboard.models.rollout import RolloutRequestQuerySet
from dashboard.rollouts import decision_rights
from dashboard.rollouts.text import STATE_LABELS, request_label, stage_name
from dashboard.trust.gate_facts import read_gate_results
from health.gates import ConditionState, GateResult
from health.stages import LADDER

PAGE_SIZE = 25
MAX_PENDING = 100
# Profiles that are evaluated, and of the candidates that are not ready how many are listed.
MAX_PROFILES, MAX_NOT_READY = 500, 50
MAX_CHOICES = 200


@dataclass(frozen=True, slots=True)
class PendingRequest:
    """A request without a decision, for one user."""

    request: RolloutRequest
    # Empty if the user may decide.
    cannot_decide_reason: str
    # None for the release of a pinned mode, which has no gate.
    gate_result: GateResult | None

    @property
    def gate_state(self) -> str:
        """The state of its gate now, as a CSS class."""
        if self.gate_result is None or self.gate_result.is_met:
            return "met"
        return "inconclusive" if self.gate_result.paused else "not_met"

    @property
    def gate_label(self) -> str:
        if self.gate_result is None:
            return ""
        met = sum(each.is_met for each in self.gate_result.conditions)
        total = len(self.gate_result.conditions)
        return _("{met} of {total} met").format(met=met, total=total)

    @property
    def endpoint(self) -> Endpoint:
        return self.request.profile.endpoint

    @property
    def label(self) -> str:
        return request_label(self.request)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A profile that has a next stage and no pending request."""

    profile: Profile
    gate_result: GateResult

    @property
    def endpoint(self) -> Endpoint:
        return self.profile.endpoint

    @property
    def is_ready(self) -> bool:
        return self.gate_result.is_met

    @property
    def is_new(self) -> bool:
        """Whether another profile is in force."""
        return not self.profile.in_force

    @property
    def label(self) -> str:
        assert self.gate_result.next is not None
        before, after = stage_name(self.gate_result.stage), stage_name(self.gate_result.next)
        return _("{before} → {after}").format(before=before, after=after)

    @property
    def missing(self) -> str:
        """The first missing condition and how many more; failed ones come before unknown ones."""
        missing = sorted(
            self.gate_result.missing, key=lambda each: each.state is not ConditionState.NOT_MET
        )
        if not missing:
            return ""
        others = len(missing) - 1
        if not others:
            return missing[0].text
        text = ngettext("{first} And {count} more.", "{first} And {count} more.", others)
        return text.format(first=missing[0].text, count=others)


@dataclass(frozen=True, slots=True)
class RequestFilter(QueryFilter):
    """Filters past requests. An empty field does not filter."""

    state: str = ""
    endpoint: str = ""
    person: str = ""

    @property
    def is_filtered(self) -> bool:
        return bool(self.state or self.endpoint or self.person)


class RequestFilterForm(QueryForm):
    state = choice_field([state for state in STATE_LABELS if state != RolloutRequest.State.PENDING])
    endpoint = text_field(max_length=60)
    person = text_field(max_length=150)


def visible_requests(actor: Actor) -> RolloutRequestQuerySet:
    """The requests of endpoints that the actor may read."""
    endpoints = Endpoint.objects.kept().of_teams(actor.teams(Right.READ))
    related = ("profile__endpoint", "switch", "requested_by", "decided_by")
    return RolloutRequest.objects.filter(profile__endpoint__in=endpoints).select_related(*related)


def read_open_rollouts(user: User, actor: Actor) -> dict[str, Any]:
    """Pending requests, candidates that are ready, and candidates that are not."""
    requests = list(visible_requests(actor).pending().order_by("requested_at", "pk")[:MAX_PENDING])
    profiles = list(_profiles_below_top(actor))
    requested = [request.profile for request in requests if request.switch is None]
    results = read_gate_results([*profiles, *requested])
    pending = [
        PendingRequest(
            request,
            decision_rights.cannot_decide_reason(request, user, actor),
            results.result_of(request.profile) if request.switch is None else None,
        )
        for request in requests
    ]
    requested_ids = {profile.pk for profile in requested}
    free = [profile for profile in profiles if profile.pk not in requested_ids]
    ready = [profile for profile in free if results.is_ready(profile)]
    not_ready = [profile for profile in free if profile not in ready]
    return {
        "pending": sorted(pending, key=lambda row: bool(row.cannot_decide_reason)),
        "ready": [Candidate(each, results.result_of(each)) for each in ready],
        "not_ready": [
            Candidate(each, results.result_of(each)) for each in not_ready[:MAX_NOT_READY]
        ],
        "more_not_ready": max(len(not_ready) - MAX_NOT_READY, 0),
    }


def _profiles_below_top(actor: Actor) -> QuerySet[Profile]:
    """The current profiles that have a next stage."""
    endpoints = Endpoint.objects.kept().of_teams(actor.teams(Right.READ))
    current = Profile.objects.filter(ended_at=None, endpoint__in=endpoints)
    return (
        current.exclude(stage=LADDER[-1])
        .select_related("endpoint")
        .order_by("endpoint__slug")[:MAX_PROFILES]
    )


def past_requests(request_filter: RequestFilter, actor: Actor) -> QuerySet[RolloutRequest]:
    """Requests that are no longer pending, newest first."""
    requests = visible_requests(actor).exclude(state=RolloutRequest.State.PENDING)
    if request_filter.state:
        requests = requests.filter(state=request_filter.state)
    if request_filter.endpoint:
        requests = requests.filter(profile__endpoint__slug=request_filter.endpoint)
    if person := request_filter.person:
        requests = requests.filter(
            Q(requested_by__username=person) | Q(decided_by__username=person)
        )
    return requests.order_by("-decided_at", "-pk")


def filter_choices(actor: Actor) -> dict[str, Sequence[str]]:
    """The endpoints and people of the visible past requests."""
    requests = visible_requests(actor).exclude(state=RolloutRequest.State.PENDING)
    slugs = requests.order_by("profile__endpoint__slug").values_list("profile__endpoint__slug")
    people = requests.order_by().values_list("requested_by__username", "decided_by__username")
    names = {name for pair in people.distinct()[: 4 * MAX_CHOICES] for name in pair if name}
    return {
        "slugs": [slug for (slug,) in slugs.distinct()[:MAX_CHOICES]],
        "people": sorted(names)[:MAX_CHOICES],
    }
