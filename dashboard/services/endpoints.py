"""Registering, changing and removing endpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from dashboard.errors import Refused
from dashboard.models import Endpoint, Profile
from dashboard.services import credentials, runs
from probes.secret import Secret
from probes.target import ProfileKey, check_base_url, check_options, origin

FIELDS = (
    "slug",
    "provider",
    "base_url",
    "model",
    "options",
    "ttl",
    "max_concurrency",
    "enabled",
)


@dataclass(frozen=True, slots=True)
class Updated:
    endpoint: Endpoint
    key_wiped: bool
    new_epoch: bool


@transaction.atomic
def create(  # noqa: PLR0913 -- keyword-only: the fields of a registration
    *,
    slug: str,
    provider: str,
    base_url: str,
    model: str,
    options: Mapping[str, Any],
    ttl: timedelta,
    max_concurrency: int,
    enabled: bool,
    key: Secret | None,
    onboarding_runs: int = 1,
) -> Endpoint:
    """Register an endpoint; it is due at once. Refuses a slug that is taken."""
    check_options(options)
    endpoint = Endpoint(
        slug=slug,
        provider=provider,
        base_url=check_base_url(base_url),
        model=model,
        options=options,
        ttl=ttl,
        max_concurrency=max_concurrency,
        enabled=enabled,
        onboarding_left=onboarding_runs,
    )
    _save(endpoint)
    _open_profile(endpoint, epoch=1)
    if key:
        credentials.store(endpoint, key)
    return endpoint


@transaction.atomic
def update(
    endpoint: Endpoint,
    *,
    key: Secret | None,
    forget_key: bool,
    seen: datetime | None = None,
    **fields: Any,
) -> Updated:
    """Change an endpoint. Another origin wipes the stored key; another key opens a new profile.

    Refuses when somebody else changed it after `seen`, the updated_at that the editor looked at.
    """
    if unknown := fields.keys() - set(FIELDS):
        raise TypeError(f"no such field: {sorted(unknown)}")
    endpoint = Endpoint.objects.kept().select_for_update().get(pk=endpoint.pk)
    if seen is not None and endpoint.updated_at != seen:
        raise Refused(
            "Somebody else changed this endpoint meanwhile. Open the form again and compare."
        )
    old_origin = origin(endpoint.base_url)
    for name, value in fields.items():
        setattr(endpoint, name, value)
    endpoint.base_url = check_base_url(endpoint.base_url)
    check_options(endpoint.options)
    endpoint.updated_at = Now()
    _save(endpoint, update_fields=[*fields, "updated_at"])

    had_key = credentials.is_stored(endpoint)
    if forget_key or origin(endpoint.base_url) != old_origin:
        credentials.forget(endpoint)
    if key:
        credentials.store(endpoint, key)
    new_epoch = _follow_key(endpoint)
    lost = had_key and not forget_key and not credentials.is_stored(endpoint)
    return Updated(endpoint, key_wiped=lost, new_epoch=new_epoch)


@transaction.atomic
def remove(endpoint: Endpoint) -> None:
    """Take an endpoint out: its key is wiped, its run stops, its slug is free again."""
    credentials.forget(endpoint)
    runs.abandon_active(endpoint, reason="the endpoint was removed")
    Endpoint.objects.kept().filter(pk=endpoint.pk).update(removed_at=Now(), enabled=False)


def _follow_key(endpoint: Endpoint) -> bool:
    """Open the next epoch when the profile key is no longer the one that was measured."""
    current = endpoint.profile
    if bytes(current.key_hash) == _key(endpoint).digest():
        return False
    Profile.objects.filter(pk=current.pk).update(ended_at=Now())
    _open_profile(endpoint, epoch=current.epoch + 1)
    runs.abandon_active(endpoint, reason="superseded by a changed profile key")
    Endpoint.objects.filter(pk=endpoint.pk).update(next_due_at=Now(), fruitless=0)
    return True


def _open_profile(endpoint: Endpoint, *, epoch: int) -> Profile:
    key = _key(endpoint)
    return Profile.objects.create(
        endpoint=endpoint,
        epoch=epoch,
        provider=key.provider,
        model=key.model,
        endpoint_url=key.endpoint,
        chat_template_hash=key.chat_template_hash,
        key_hash=key.digest(),
    )


def _key(endpoint: Endpoint) -> ProfileKey:
    return ProfileKey(endpoint.provider, endpoint.model, endpoint.base_url)


def _save(endpoint: Endpoint, update_fields: list[str] | None = None) -> None:
    try:
        with transaction.atomic():
            endpoint.save(update_fields=update_fields)
    except IntegrityError as exc:
        if "endpoint_slug_once" not in str(exc):
            raise
        raise Refused(f"There is already an endpoint called {endpoint.slug!r}.") from exc
