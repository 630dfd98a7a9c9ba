"""Renews policies: a mode can expire and a profile can become stale without any change.

A policy states until when it is good. Reading one past that time renews it first.
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
    """The policy of an endpoint, renewed if it is outdated; None for an unknown endpoint."""
    policy, is_good = _read_policy(slug)
    return policy if is_good else _renew_one(slug)


def renew_outdated() -> int:
    """Resolve policies that are outdated or were never resolved; returns how many."""
    modes.expire_modes()
    return _settle_each(Endpoint.objects.kept().filter(_OUTDATED))


_OUTDATED = Q(policy=None) | Q(policy__good_until__lte=Now())


def _read_policy(slug: str) -> tuple[Policy | None, bool]:
    """The stored policy, and whether it is still good by the database's clock."""
    good = ExpressionWrapper(
        Q(good_until=None) | Q(good_until__gt=Now()), output_field=BooleanField()
    )
    stored = Policy.objects.filter(endpoint__slug=slug, endpoint__removed_at=None)
    # Not first(): sorting could make another index look better.
    policy: Any = next(iter(stored.annotate(is_good=good)[:1]), None)
    return policy, policy is not None and policy.is_good


def _renew_one(slug: str) -> Policy | None:
    modes.expire_modes()
    _settle_each(Endpoint.objects.kept().filter(slug=slug))
    return _read_policy(slug)[0]


def _settle_each(endpoints: EndpointQuerySet) -> int:
    """Settle each in its own transaction, so that no worker waits for a whole fleet."""
    endpoint_ids = list(endpoints.order_by("pk").values_list("pk", flat=True))
    for endpoint_id in endpoint_ids:
        with transaction.atomic():
            set_idle_timeout()
            locked = Endpoint.objects.kept().select_for_update().filter(pk=endpoint_id).first()
            if locked is not None:
                settle(locked)
    return len(endpoint_ids)
