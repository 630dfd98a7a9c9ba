"""Profiles, one epoch per key: what was measured, and what the endpoint reported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F, Max, Q
from django.db.models.functions import Now

from dashboard.audit import services as audit
from dashboard.core.errors import LeaseLost
from dashboard.core.sql import set_idle_timeout
from dashboard.models import Endpoint, FingerprintChange, Profile, Run
from dashboard.models.audit import Action
from dashboard.models.profile import Declaration, Stage
from dashboard.models.run import State, Trigger
from dashboard.runs import services as runs
from dashboard.runs.services import Lease
from dashboard.trust import modes
from dashboard.trust.incident_end import end_profile_incidents
from dashboard.trust.settle import settle
from health import stages
from health.capabilities import leaves_schema_level, text_format
from health.capability import Capability
from health.parallel import PARALLEL_FIELDS, confirms
from probes.fingerprint import MOST_REQUESTS, MOST_TOKENS, EngineFacts
from probes.strict_json import is_same_json
from probes.suite import SUITE_VERSION
from probes.target import ProfileKey

# A fact with more values than this varies all the time, and new values are no changes.
MAX_VALUES = 10
SUPERSEDED = "superseded by a changed profile key"
KEY_CHANGED = "The profile key changed."
KEY_CAME_BACK = "The profile key came back; its profile needs a promotion again."
PROMOTED = "The profile of the present key took its place."


def open_first_profile(endpoint: Endpoint) -> Profile:
    """Open the profile of a newly registered endpoint."""
    key = _key(endpoint, endpoint.chat_template_hash)
    return _open_profile(endpoint, key, epoch=1, in_force=True, is_declared=True)


def supersede_if_key_changed(endpoint: Endpoint) -> bool:
    """Go to the profile of the key, dialect and options that an edit set; the endpoint is locked.

    Dialect and options decide what is sent, so what was measured with others says nothing about
    it. No list of names tells which options matter: a relay can route by any of them.
    """
    current = endpoint.profile
    # The template of another model or host is not known yet.
    is_shown = current.has_shown_template and _is_target_of(endpoint, current)
    template = current.chat_template_hash if is_shown else endpoint.chat_template_hash
    key = _key(endpoint, template)
    if key.digest() == bytes(current.key_hash) and _is_asked_alike(endpoint, current):
        return False
    _supersede(endpoint, current, key, is_declared=not is_shown)
    return True


@transaction.atomic
def record_engine_facts(lease: Lease, engine: EngineFacts) -> bool:
    """Record what the endpoint reported before its run; False if the profile key has changed.

    The run is superseded then, because its results would belong to the new profile.
    """
    set_idle_timeout()
    endpoint = Endpoint.objects.select_for_update(of=("self",)).get(runs__id=lease.run_id)
    profile = endpoint.profile
    reported, known = engine.chat_template_hash, profile.chat_template_hash
    was_never_seen = profile.declaration == Declaration.OPEN and profile.verified_at is None
    if reported and known and reported != known and not was_never_seen:
        _update_leased_run(lease)
        _supersede(endpoint, profile, _key(endpoint, reported))
        return False
    changed = bool(record_facts(profile, lease.run_id, engine.facts.items()))
    _update_leased_run(
        lease,
        fingerprint=dict(engine.facts),
        fingerprint_changed=F("fingerprint_changed") if not changed else True,
        reserved_requests=F("reserved_requests") - MOST_REQUESTS,
        reserved_tokens=F("reserved_tokens") - MOST_TOKENS,
    )
    if reported and not profile.has_shown_template:
        adopt_template(profile, reported)
    if changed:
        # A new engine makes the policy conservative before the run has measured it.
        settle(endpoint)
    return True


def record_facts(
    profile: Profile,
    run_id: int,
    facts: Iterable[tuple[str, str]],
    *,
    at: datetime | None = None,
) -> list[FingerprintChange]:
    """Record reported facts; a value that is new to this profile is a change.

    The first run makes no changes, since there is nothing to compare its facts with.
    """
    seen: dict[str, list[str]] = {name: list(values) for name, values in profile.facts_seen.items()}
    changes = []
    for name, value in facts:
        profile.fingerprint[name], before = value, profile.fingerprint.get(name)
        values = seen.setdefault(name, [])
        if value in values or len(values) >= MAX_VALUES:
            continue
        if values or (profile.verified_at and profile.facts_seen):
            change = FingerprintChange(profile=profile, run_id=run_id, fact=name[:60])
            change.at = at or Now()
            change.before, change.after = str(before or ""), value
            changes.append(change)
        values.append(value)
    profile.facts_seen = seen
    profile.save(update_fields=["facts_seen", "fingerprint"])
    return FingerprintChange.objects.bulk_create(changes)


def record_capabilities(profile: Profile, run: Run, capabilities: Mapping[str, Capability]) -> None:
    """Store the capabilities that a run measured; those it did not try keep their values."""
    measured = {
        name: {**capability.as_json(), "run": run.pk}
        for name, capability in capabilities.items()
        if _is_news(name, capability, profile.capabilities.get(name))
    }
    profile.capabilities = {**profile.capabilities, **measured}
    profile.probe_version, profile.verified_at = SUITE_VERSION, run.finished_at
    profile.save(update_fields=["capabilities", "probe_version", "verified_at"])


def _is_news(name: str, measured: Capability, stored: Mapping[str, Any] | None) -> bool:
    if stored is None:
        return True
    if name in PARALLEL_FIELDS and confirms(stored, measured):
        return False
    if name == "schema_level" and leaves_schema_level(stored, measured):
        return False
    return bool(measured.trials)


def record_text_format(profile: Profile, capabilities: Mapping[str, Capability]) -> str | None:
    """Return the text format of the profile's calls, which the first calls set."""
    if profile.text_format is None and (seen := text_format(capabilities)) is not None:
        profile.text_format = seen
        profile.save(update_fields=["text_format"])
    return profile.text_format


def open_next_profile(current: Profile, chat_template_hash: str, *, at: datetime) -> Profile:
    """Open the next epoch at a time in the past, for simulated history."""
    endpoint = current.endpoint
    return _open_successor(endpoint, current, _key(endpoint, chat_template_hash), at=at)


def put_in_force(profile: Profile) -> None:
    """Base the policy on this profile from now on; the endpoint is locked.

    Manual modes are carried over; the incidents of the older profile end.
    """
    older = profile.endpoint.profile_in_force
    if older.pk == profile.pk:
        return
    Profile.objects.filter(pk=older.pk).update(in_force=False)
    Profile.objects.filter(pk=profile.pk).update(in_force=True)
    profile.in_force = True
    modes.carry_over_switches(older, profile)
    end_profile_incidents(older, reason=PROMOTED)


def end_open_incidents(endpoint: Endpoint, *, reason: str) -> None:
    """End the open incidents and modes of an endpoint that is being removed; it is locked."""
    for profile in Profile.objects.filter(Q(in_force=True) | Q(ended_at=None), endpoint=endpoint):
        end_profile_incidents(profile, reason=reason)


def adopt_template(profile: Profile, chat_template_hash: str) -> None:
    """Add a shown template to the key. None was seen so far, so the epoch stays the same."""
    is_confirmed = profile.chat_template_hash == chat_template_hash
    profile.declaration = Declaration.CONFIRMED if is_confirmed else Declaration.NONE
    profile.chat_template_hash = chat_template_hash
    profile.key_hash = _key(profile.endpoint, chat_template_hash).digest()
    profile.save(update_fields=["chat_template_hash", "declaration", "key_hash"])


def _supersede(
    endpoint: Endpoint, current: Profile, key: ProfileKey, *, is_declared: bool = False
) -> None:
    successor = _open_successor(endpoint, current, key, is_declared=is_declared)
    settle(endpoint)
    runs.abandon_active_run(endpoint, reason=SUPERSEDED)
    Endpoint.objects.filter(pk=endpoint.pk).update(
        next_due_at=Now(),
        next_trigger=Trigger.KEY_CHANGE,
        fruitless=0,
        onboarding_left=0 if successor.verified_at else settings.BASELINE_RUNS,
    )


def _open_successor(
    endpoint: Endpoint,
    current: Profile,
    key: ProfileKey,
    *,
    is_declared: bool = False,
    at: datetime | None = None,
) -> Profile:
    """Open the next epoch, in shadow, or resume the profile that this key had before.

    The profile in force stays in force while it allows tools. If it allows none, the successor
    replaces it, which makes no difference to callers.
    """
    active = endpoint.profile_in_force
    stays_in_force = stages.allows_tools(active.stage)
    Profile.objects.filter(pk=current.pk).update(ended_at=at or Now())
    if not stays_in_force:
        Profile.objects.filter(pk=active.pk).update(in_force=False)
    successor = _resume_profile(endpoint, key, in_force=not stays_in_force) or _open_profile(
        endpoint,
        key,
        epoch=_next_epoch(endpoint),
        in_force=not stays_in_force,
        is_declared=is_declared,
        at=at,
    )
    if not stays_in_force:
        modes.carry_over_switches(active, successor, pinned_only=True)
    for profile in {current, active} - {successor}:
        if not (stays_in_force and profile == active):
            end_profile_incidents(profile, reason=KEY_CHANGED, at=at)
    return successor


def _resume_profile(endpoint: Endpoint, key: ProfileKey, *, in_force: bool) -> Profile | None:
    """Resume the last profile of this key with all that was measured; None if there is none.

    A key without a template matches any that was shown: the next run reads the template and
    compares it. Trust does not come back by itself: unless it is still in force, the profile
    begins in shadow.
    """
    earlier = endpoint.profiles.filter(
        ended_at__isnull=False,
        provider=key.provider,
        model=key.model,
        endpoint_url=key.endpoint,
        dialect=endpoint.dialect,
        options=endpoint.options,
    )
    if key.chat_template_hash:
        earlier = earlier.filter(chat_template_hash=key.chat_template_hash)
    else:
        earlier = earlier.exclude(declaration=Declaration.OPEN)
    profile = earlier.order_by("-ended_at", "-epoch").first()
    if profile is None:
        return None
    if not profile.in_force and stages.allows_tools(profile.stage):
        _return_to_shadow(endpoint, profile)
    profile.in_force = profile.in_force or in_force
    profile.ended_at = None
    profile.save(update_fields=["in_force", "ended_at"])
    return profile


def _return_to_shadow(endpoint: Endpoint, profile: Profile) -> None:
    audit.record(
        Action.STAGE_CHANGED,
        subject=f"profile {profile.epoch}",
        endpoint=endpoint,
        reason=KEY_CAME_BACK,
        before={"stage": profile.stage, "epoch": profile.epoch},
        after={"stage": Stage.SHADOW.value, "epoch": profile.epoch},
    )
    profile.stage, profile.stage_at = Stage.SHADOW.value, Now()
    profile.save(update_fields=["stage", "stage_at"])


def _next_epoch(endpoint: Endpoint) -> int:
    return 1 + int(endpoint.profiles.aggregate(last=Max("epoch"))["last"] or 0)


def _open_profile(  # noqa: PLR0913 -- keyword-only: where the profile begins
    endpoint: Endpoint,
    key: ProfileKey,
    *,
    epoch: int,
    in_force: bool,
    is_declared: bool,
    at: datetime | None = None,
) -> Profile:
    """Open a profile; `is_declared` if its template, where it has one, was not shown."""
    declared = is_declared and key.chat_template_hash
    return Profile.objects.create(
        in_force=in_force,
        created_at=at or Now(),
        stage_at=at or Now(),
        endpoint=endpoint,
        epoch=epoch,
        provider=key.provider,
        model=key.model,
        endpoint_url=key.endpoint,
        chat_template_hash=key.chat_template_hash,
        declaration=Declaration.OPEN if declared else Declaration.NONE,
        dialect=endpoint.dialect,
        options=endpoint.options,
        key_hash=key.digest(),
    )


def _key(endpoint: Endpoint, chat_template_hash: str = "") -> ProfileKey:
    return ProfileKey(endpoint.provider, endpoint.model, endpoint.base_url, chat_template_hash)


def _is_target_of(endpoint: Endpoint, profile: Profile) -> bool:
    target = endpoint.provider, endpoint.model, endpoint.base_url
    return target == (profile.provider, profile.model, profile.endpoint_url)


def _is_asked_alike(endpoint: Endpoint, profile: Profile) -> bool:
    same_dialect = endpoint.dialect == profile.dialect
    return same_dialect and is_same_json(endpoint.options, profile.options)


def _update_leased_run(lease: Lease, **changes: object) -> None:
    """Update the run if the lease still holds; the row lock keeps it until the commit."""
    leased = Run.objects.filter(
        pk=lease.run_id,
        lease_token=lease.token,
        state=State.RUNNING,
        lease_expires_at__gt=Now(),
    )
    if not leased.update(lease_token=lease.token, **changes):
        raise LeaseLost("The lease ran out or the run was cancelled.")
