"""Creates, updates and removes endpoints."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models.functions import Least, Now
from django.utils.translation import gettext as _

from dashboard.audit import services as audit
from dashboard.core import durations
from dashboard.core.errors import Refused
from dashboard.endpoints.tags import check_tags
from dashboard.models import Endpoint, EndpointEdit
from dashboard.models.audit import Action
from dashboard.models.people import Team
from dashboard.runs import credentials
from dashboard.runs import services as runs
from dashboard.trust import profiles, rollout_requests
from dashboard.trust.settle import settle
from probes.dialects import check_dialect
from probes.secret import Secret
from probes.target import Provider, check_base_url, check_options, check_template_hash, origin

FIELDS = (
    "slug",
    "provider",
    "base_url",
    "model",
    "options",
    "dialect",
    "chat_template_hash",
    "ttl",
    "max_concurrency",
    "enabled",
    "daily_requests",
    "daily_tokens",
    "price_input",
    "price_output",
    "currency",
    "tags",
    "team",
)


@dataclass(frozen=True, slots=True)
class EndpointUpdate:
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
    daily_requests: int | None = None,
    daily_tokens: int | None = None,
    price_input: Decimal | None = None,
    price_output: Decimal | None = None,
    currency: str = "USD",
    tags: Iterable[str] = (),
    team: Team | None = None,
    dialect: str = "",
    chat_template_hash: str = "",
    onboarding_runs: int | None = None,
) -> Endpoint:
    """Register an endpoint, due at once. Refuses a slug that is in use."""
    check_options(options)
    check_dialect(Provider(provider), dialect)
    endpoint = Endpoint(
        slug=slug,
        provider=provider,
        base_url=check_base_url(base_url),
        model=model,
        options=options,
        dialect=dialect,
        chat_template_hash=check_template_hash(chat_template_hash),
        ttl=ttl,
        max_concurrency=max_concurrency,
        enabled=enabled,
        daily_requests=daily_requests,
        daily_tokens=daily_tokens,
        price_input=price_input,
        price_output=price_output,
        currency=currency,
        tags=check_tags(tags),
        team=team,
        onboarding_left=settings.BASELINE_RUNS if onboarding_runs is None else onboarding_runs,
    )
    _save(endpoint)
    profiles.open_first_profile(endpoint)
    if key:
        credentials.store_key(endpoint, key)
    settle(endpoint)
    audit.record(
        Action.ENDPOINT_CREATED,
        subject=_audit_subject(endpoint),
        endpoint=endpoint,
        after=_audit_fields(endpoint, has_key=bool(key)),
    )
    return endpoint


@transaction.atomic
def update(
    endpoint: Endpoint,
    *,
    key: Secret | None,
    forget_key: bool,
    seen: datetime | None = None,
    by: User | None = None,
    **fields: Any,
) -> EndpointUpdate:
    """Change an endpoint.

    A new origin deletes the stored key. Another profile key, dialect or request option opens
    another profile.
    Refuses if it was changed after `seen`, the updated_at that the editor loaded.
    """
    if unknown := fields.keys() - set(FIELDS):
        raise TypeError(f"no such field: {sorted(unknown)}")
    endpoint = Endpoint.objects.kept().select_for_update().get(pk=endpoint.pk)
    if seen is not None and endpoint.updated_at != seen:
        raise Refused(
            _("Somebody else changed this endpoint meanwhile. Open the form again and compare.")
        )
    old_origin = origin(endpoint.base_url)
    before = {name: getattr(endpoint, name) for name in fields}
    for name, value in fields.items():
        setattr(endpoint, name, value)
    endpoint.base_url = check_base_url(endpoint.base_url)
    check_options(endpoint.options)
    check_dialect(Provider(endpoint.provider), endpoint.dialect)
    endpoint.chat_template_hash = check_template_hash(endpoint.chat_template_hash)
    endpoint.tags = check_tags(endpoint.tags)
    endpoint.updated_at = Now()
    _save(endpoint, update_fields=[*fields, "updated_at"])

    if {"daily_requests", "daily_tokens"} & fields.keys():
        _end_budget_wait(endpoint)
    had_key = credentials.has_key(endpoint)
    if forget_key or origin(endpoint.base_url) != old_origin:
        credentials.delete_key(endpoint)
    if key:
        credentials.store_key(endpoint, key)
    is_stored = credentials.has_key(endpoint)
    _record_edit(endpoint, before, by=by, key=_key_change(key, had=had_key, has=is_stored))
    new_epoch = profiles.supersede_if_key_changed(endpoint)
    settle(endpoint)
    key_wiped = had_key and not forget_key and not is_stored
    return EndpointUpdate(endpoint, key_wiped=key_wiped, new_epoch=new_epoch)


@transaction.atomic
def remove(endpoint: Endpoint) -> None:
    """Remove an endpoint: delete its key, abandon its run, free its slug."""
    endpoint = Endpoint.objects.select_for_update().get(pk=endpoint.pk)
    before = _audit_fields(endpoint, has_key=credentials.has_key(endpoint))
    credentials.delete_key(endpoint)
    runs.abandon_active_run(endpoint, reason="the endpoint was removed")
    profiles.end_open_incidents(endpoint, reason="The endpoint was removed.")
    if Endpoint.objects.kept().filter(pk=endpoint.pk).update(removed_at=Now(), enabled=False):
        audit.record(
            Action.ENDPOINT_REMOVED,
            subject=_audit_subject(endpoint),
            endpoint=endpoint,
            before=before,
        )
    rollout_requests.void_changed_requests(endpoint)


def _record_edit(
    endpoint: Endpoint, before: Mapping[str, Any], *, by: User | None, key: str
) -> None:
    """Record the changed fields as text. Of a key only the fact that it changed is recorded."""
    pairs = {
        name: (_as_text(old), _as_text(getattr(endpoint, name))) for name, old in before.items()
    }
    changes = [[name, old, new] for name, (old, new) in pairs.items() if old != new]
    if key:
        changes.append(["key", "", key])
    if changes:
        EndpointEdit.objects.create(endpoint=endpoint, changes=changes, by=by)
        audit.record(
            Action.ENDPOINT_CHANGED,
            subject=_audit_subject(endpoint),
            endpoint=endpoint,
            by=by,
            before={name: old for name, old, _ in changes},
            after={name: new for name, _, new in changes},
        )


def _audit_subject(endpoint: Endpoint) -> str:
    return f"endpoint {endpoint.slug}"


def _audit_fields(endpoint: Endpoint, *, has_key: bool) -> dict[str, str]:
    """The fields as text, without empty ones."""
    texts = {name: _as_text(getattr(endpoint, name)) for name in FIELDS}
    key = {"key": "given"} if has_key else {}
    return {name: text for name, text in texts.items() if text} | key


def _key_change(key: Secret | None, *, had: bool, has: bool) -> str:
    if key:
        return "given"
    return "forgotten" if had and not has else ""


def _as_text(value: object) -> str:
    """As the form shows it; an empty value is an empty text."""
    if isinstance(value, timedelta):
        return durations.format_duration(value)
    if isinstance(value, dict | list | tuple | bool):
        return json.dumps(value, ensure_ascii=False, default=str)
    return "" if value is None else str(value)


def _end_budget_wait(endpoint: Endpoint) -> None:
    """An endpoint that waits for the next day is due now: the new budget may allow a run."""
    waiting = Endpoint.objects.filter(pk=endpoint.pk, spent_out_on__isnull=False)
    waiting.update(spent_out_on=None, next_due_at=Least("next_due_at", Now()))


def _save(endpoint: Endpoint, update_fields: list[str] | None = None) -> None:
    try:
        with transaction.atomic():
            endpoint.save(update_fields=update_fields)
    except IntegrityError as exc:
        if "endpoint_slug_once" not in str(exc):
            raise
        message = _("There is already an endpoint called {slug}.")
        raise Refused(message.format(slug=repr(endpoint.slug))) from exc
