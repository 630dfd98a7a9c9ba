"""What the list of rollouts reads: what waits for a decision, what may be asked for, the past."""

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
from dashboard.rollouts import who_decides
from dashboard.rollouts.text import STATES, asked_for, name_of
from dashboard.trust.gate_facts import gate_results
from health.gates import ConditionState, GateResult
from health.stages import LADDER

PAGE = 25
MOST_PENDING = 100
# Profiles that are looked at, and of those that may not be asked for yet how many are listed.
MOST_LOOKED_AT, MOST_NOT_YET = 500, 50
MOST_CHOICES = 200


@dataclass(frozen=True, slots=True)
class Waiting:
    """A request that nobody has decided on, as one person sees it."""

    request: RolloutRequest
    # Empty where this person may decide.
    why_not: str
    # None for a mode that is to be let go of: it has no gate.
    standing: GateResult | None

    @property
    def gate(self) -> str:
        """How its gate is judged now: the class of a mark; `gate_words` says it."""
        if self.standing is None or self.standing.is_met:
            return "met"
        return "inconclusive" if self.standing.paused else "not_met"

    @property
    def gate_words(self) -> str:
        if self.standing is None:
            return ""
        met = sum(each.is_met for each in self.standing.conditions)
        told = {"met": met, "total": len(self.standing.conditions)}
        return _("{met} of {total} met").format(**told)

    @property
    def endpoint(self) -> Endpoint:
        return self.request.profile.endpoint

    @property
    def words(self) -> str:
        return asked_for(self.request)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A profile on its way up."""

    profile: Profile
    standing: GateResult

    @property
    def endpoint(self) -> Endpoint:
        return self.profile.endpoint

    @property
    def is_ready(self) -> bool:
        return self.standing.is_met

    @property
    def is_new(self) -> bool:
        """Whether another profile is in force while this one waits."""
        return not self.profile.in_force

    @property
    def words(self) -> str:
        assert self.standing.next is not None
        told = {"before": name_of(self.standing.stage), "after": name_of(self.standing.next)}
        return _("{before} → {after}").format(**told)

    @property
    def missing(self) -> str:
        """What is missing, in one line: what speaks against it before what is not known."""
        missing = sorted(
            self.standing.missing, key=lambda each: each.state is not ConditionState.NOT_MET
        )
        if not missing:
            return ""
        others = len(missing) - 1
        if not others:
            return missing[0].text
        said = ngettext("{first} And {count} more.", "{first} And {count} more.", others)
        return said.format(first=missing[0].text, count=others)


@dataclass(frozen=True, slots=True)
class RequestFilter(QueryFilter):
    """Which past requests are shown. An empty field does not filter."""

    state: str = ""
    endpoint: str = ""
    person: str = ""

    @property
    def is_all(self) -> bool:
        return not (self.state or self.endpoint or self.person)


class RequestFilterForm(QueryForm):
    state = choice_field([state for state in STATES if state != RolloutRequest.State.PENDING])
    endpoint = text_field(max_length=60)
    person = text_field(max_length=150)


def visible_to(actor: Actor) -> RolloutRequestQuerySet:
    """The requests of endpoints that somebody may see."""
    seen = Endpoint.objects.kept().of_teams(actor.teams(Right.READ))
    related = ("profile__endpoint", "switch", "requested_by", "decided_by")
    return RolloutRequest.objects.filter(profile__endpoint__in=seen).select_related(*related)


def standing(user: User, actor: Actor) -> dict[str, Any]:
    """What waits for a decision, what may be asked for, and what may not yet and why."""
    asked = list(visible_to(actor).pending().order_by("requested_at", "pk")[:MOST_PENDING])
    found = list(_on_the_way(actor))
    wanted = [each.profile for each in asked if each.switch is None]
    judged = gate_results([*found, *wanted])
    rows = [
        Waiting(
            each,
            who_decides.why_not(each, user, actor),
            judged.result_of(each.profile) if each.switch is None else None,
        )
        for each in asked
    ]
    pending = {profile.pk for profile in wanted}
    free = [each for each in found if each.pk not in pending]
    ready = [each for each in free if judged.is_ready(each)]
    others = [each for each in free if each not in ready]
    return {
        "waiting": sorted(rows, key=lambda row: bool(row.why_not)),
        "ready": [Candidate(each, judged.result_of(each)) for each in ready],
        "not_yet": [Candidate(each, judged.result_of(each)) for each in others[:MOST_NOT_YET]],
        "more_not_yet": max(len(others) - MOST_NOT_YET, 0),
    }


def _on_the_way(actor: Actor) -> QuerySet[Profile]:
    """Every profile of a present key that has a next stage."""
    seen = Endpoint.objects.kept().of_teams(actor.teams(Right.READ))
    found = Profile.objects.filter(ended_at=None, endpoint__in=seen).exclude(stage=LADDER[-1])
    return found.select_related("endpoint").order_by("endpoint__slug")[:MOST_LOOKED_AT]


def past(asked: RequestFilter, actor: Actor) -> QuerySet[RolloutRequest]:
    """What was decided or ended otherwise, the newest first."""
    found = visible_to(actor).exclude(state=RolloutRequest.State.PENDING)
    if asked.state:
        found = found.filter(state=asked.state)
    if asked.endpoint:
        found = found.filter(profile__endpoint__slug=asked.endpoint)
    if asked.person:
        by = Q(requested_by__username=asked.person) | Q(decided_by__username=asked.person)
        found = found.filter(by)
    return found.order_by("-decided_at", "-pk")


def choices(actor: Actor) -> dict[str, Sequence[str]]:
    """What the filters offer: endpoints and people that occur among what one may see."""
    seen = visible_to(actor).exclude(state=RolloutRequest.State.PENDING)
    slugs = seen.order_by("profile__endpoint__slug").values_list("profile__endpoint__slug")
    people = seen.order_by().values_list("requested_by__username", "decided_by__username")
    names = {name for pair in people.distinct()[: 4 * MOST_CHOICES] for name in pair if name}
    return {
        "slugs": [slug for (slug,) in slugs.distinct()[:MOST_CHOICES]],
        "people": sorted(names)[:MOST_CHOICES],
    }
