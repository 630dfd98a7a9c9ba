"""Requests of every kind and state, for the pages of rollouts."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import User
from django.db.models.functions import Now

from dashboard.models import RolloutRequest
from dashboard.models.people import Role
from dashboard.trust import modes, rollout_requests
from health.modes import Mode
from tests.dashboard.rollouts.profile_builders import (
    ease_gates,
    make_ready,
    make_request,
    swap_template,
)
from tests.factories import make_person

# Names, and call formats as adapters are named.
DATA = ("swapped-one", "ready-one", "bob", "chief", "b" * 12, "json_text", "openai")


def make_requests(person: User) -> tuple[list[int], int]:
    """The ids of the requests, the first two of which are pending, and a pinned mode."""
    bob = make_person("bob", Role.OPERATOR, Role.APPROVER)
    ease_gates()
    make_ready(slug="ready-one")
    swapped = make_ready(slug="swapped-one")
    ended = [make_request(swapped, bob, "zeta-1")]
    rollout_requests.approve(ended[0], by=person, reason="zeta-1")
    swap_template(swapped)
    for end in (rollout_requests.reject, rollout_requests.withdraw):
        ended.append(make_request(swapped, bob, "zeta-1"))
        end(ended[-1], by=bob, reason="zeta-1")
    ended.append(make_request(swapped, bob, "zeta-1"))
    RolloutRequest.objects.filter(pk=ended[-1].pk).update(expires_at=Now() - timedelta(hours=1))
    rollout_requests.expire_requests()
    ended.append(make_request(swapped, bob, "zeta-1"))
    profile = swapped.profile_in_force
    pinned = modes.switch_on(profile, Mode.NO_TOOLS, by=bob, reason="zeta-1", pinned=True)
    unpin = rollout_requests.request_unpin(pinned, by=bob, reason="zeta-1")
    other = modes.switch_on(profile, Mode.NO_PARALLEL, by=bob, reason="zeta-1", pinned=True)
    waiting = [make_request(swapped, bob, "zeta-1"), unpin]
    return [request.pk for request in (*waiting, *ended)], other.pk
