"""Policies past their time: a mode runs out and a profile becomes stale without any change.

A policy states until when it is good. A reader of one that is past that time renews it first.
"""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import BooleanField, ExpressionWrapper, Q
from django.db.models.functions import Now

from dashboard.core.sql import set_idle_timeout
from dashboard.models import Endpoint, Policy
from dashboard.models.endpoint import EndpointQuerySet
from dashboard.trust import modes
from dashboard.trust.settle import settle


def current_policy(slug: str) -> Policy | None:
    """The policy of the endpoint with that name, good now; None for an unknown endpoint."""
    policy, is_good = _read_policy(slug)
    return policy if is_good else _renew_one(slug)


def renew_outdated() -> int:
    """Resolve policies that are past their time or were never resolved; returns how many."""
    modes.expire()
    return _settle_each(Endpoint.objects.kept().filter(_OUTDATED))


_OUTDATED = Q(policy=None) | Q(policy__good_until__lte=Now())


def _read_policy(slug: str) -> tuple[Policy | None, bool]:
    """The stored policy, and whether it is still good by the database's clock: one statement."""
    good = ExpressionWrapper(
        Q(good_until=None) | Q(good_until__gt=Now()), output_field=BooleanField()
    )
    kept = Policy.objects.filter(endpoint__slug=slug, endpoint__removed_at=None)
    # Not first(): sorting could make another index look better.
    policy: Any = next(iter(kept.annotate(is_good=good)[:1]), None)
    return policy, policy is not None and policy.is_good


def _renew_one(slug: str) -> Policy | None:
    modes.expire()
    _settle_each(Endpoint.objects.kept().filter(slug=slug))
    return _read_policy(slug)[0]


def _settle_each(endpoints: EndpointQuerySet) -> int:
    """Each in a transaction of its own, so that no worker waits for a whole fleet."""
    found = list(endpoints.order_by("pk").values_list("pk", flat=True))
    for endpoint_id in found:
        with transaction.atomic():
            set_idle_timeout()
            locked = Endpoint.objects.kept().select_for_update().filter(pk=endpoint_id).first()
            if locked is not None:
                settle(locked)
    return len(found)
