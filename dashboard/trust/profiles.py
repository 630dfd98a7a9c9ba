"""Profiles, one epoch per key: what was measured, and what the endpoint reported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from dashboard.core.errors import LeaseLost
from dashboard.core.sql import set_idle_timeout
from dashboard.models import Endpoint, FingerprintChange, Profile, Run
from dashboard.models.run import State, Trigger
from dashboard.runs import services as runs
from dashboard.runs.services import Lease
from dashboard.trust import modes
from dashboard.trust.incident_end import end_profile_incidents
from dashboard.trust.settle import settle
from health import stages
from health.capabilities import Capability, text_format
from probes.fingerprint import MOST_REQUESTS, MOST_TOKENS, EngineFacts
from probes.suite import SUITE_VERSION
from probes.target import ProfileKey

# A fact with more values than this varies all the time, and new values are no changes.
MAX_VALUES = 10
SUPERSEDED = "superseded by a changed profile key"
KEY_CHANGED = "The profile key changed."
PROMOTED = "The profile of the present key took its place."


def open_first_profile(endpoint: Endpoint) -> Profile:
    """Open the profile of a newly registered endpoint."""
    return _open_profile(endpoint, _key(endpoint), epoch=1, in_force=True)


def supersede_if_key_changed(endpoint: Endpoint) -> bool:
    """Open the next epoch if an edit has changed the key; the endpoint is locked."""
    current = endpoint.profile
    key = _key(endpoint, current.chat_template_hash)
    if key.digest() == bytes(current.key_hash):
        return False
    # Another model or host, whose template is not known yet.
    _supersede(endpoint, current, _key(endpoint))
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
    if reported and known and reported != known:
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
    if reported and not known:
        adopt_template(profile, reported)
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
        if capability.trials or name not in profile.capabilities
    }
    profile.capabilities = {**profile.capabilities, **measured}
    profile.probe_version, profile.verified_at = SUITE_VERSION, run.finished_at
    profile.save(update_fields=["capabilities", "probe_version", "verified_at"])


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
    """Add a template to the key. It was unknown so far, so the epoch stays the same."""
    profile.chat_template_hash = chat_template_hash
    profile.key_hash = _key(profile.endpoint, chat_template_hash).digest()
    profile.save(update_fields=["chat_template_hash", "key_hash"])


def _supersede(endpoint: Endpoint, current: Profile, key: ProfileKey) -> None:
    _open_successor(endpoint, current, key)
    settle(endpoint)
    runs.abandon_active_run(endpoint, reason=SUPERSEDED)
    Endpoint.objects.filter(pk=endpoint.pk).update(
        next_due_at=Now(),
        next_trigger=Trigger.KEY_CHANGE,
        fruitless=0,
        onboarding_left=settings.BASELINE_RUNS,
    )


def _open_successor(
    endpoint: Endpoint, current: Profile, key: ProfileKey, *, at: datetime | None = None
) -> Profile:
    """Open the next epoch, in shadow, without changing what callers may do.

    The profile in force stays in force while it allows tools. If it allows none, the new one
    replaces it, which makes no difference to callers.
    """
    active = endpoint.profile_in_force
    stays_in_force = stages.allows_tools(active.stage)
    Profile.objects.filter(pk=current.pk).update(ended_at=at or Now())
    if not stays_in_force:
        Profile.objects.filter(pk=active.pk).update(in_force=False)
    successor = _open_profile(
        endpoint, key, epoch=current.epoch + 1, in_force=not stays_in_force, at=at
    )
    if not stays_in_force:
        modes.carry_over_switches(active, successor, pinned_only=True)
    for profile in {current, active}:
        if not (stays_in_force and profile == active):
            end_profile_incidents(profile, reason=KEY_CHANGED, at=at)
    return successor


def _open_profile(
    endpoint: Endpoint, key: ProfileKey, *, epoch: int, in_force: bool, at: datetime | None = None
) -> Profile:
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
        key_hash=key.digest(),
    )


def _key(endpoint: Endpoint, chat_template_hash: str = "") -> ProfileKey:
    return ProfileKey(endpoint.provider, endpoint.model, endpoint.base_url, chat_template_hash)


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
