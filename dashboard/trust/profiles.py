"""Profiles: one epoch a key. What was measured, and what the endpoint told about itself."""

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
from dashboard.trust.incident_end import end_incidents_of
from dashboard.trust.settle import settle
from health import stages
from health.capabilities import Capability, text_format
from probes.fingerprint import MOST_REQUESTS, MOST_TOKENS, EngineFacts
from probes.suite import SUITE_VERSION
from probes.target import ProfileKey

# A fact with ever more values tells nothing: beyond this it is known to vary.
MOST_VALUES = 10
SUPERSEDED = "superseded by a changed profile key"
KEY_CHANGED = "The profile key changed."
PROMOTED = "The profile of the present key took its place."


def open_first(endpoint: Endpoint) -> Profile:
    """The profile of an endpoint that was just registered."""
    return _open(endpoint, _key(endpoint), epoch=1, in_force=True)


def follow_edit(endpoint: Endpoint) -> bool:
    """Open the next epoch when an edit has changed the key; the endpoint is locked."""
    current = endpoint.profile
    key = _key(endpoint, current.chat_template_hash)
    if key.digest() == bytes(current.key_hash):
        return False
    # Another model or host: nothing is known of its template yet.
    _supersede(endpoint, current, _key(endpoint))
    return True


@transaction.atomic
def note_engine(lease: Lease, engine: EngineFacts) -> bool:
    """Keep what the endpoint told before its run; False where the key is another one now.

    A run is superseded then: what it would measure belongs to the new profile.
    """
    set_idle_timeout()
    endpoint = Endpoint.objects.select_for_update(of=("self",)).get(runs__id=lease.run_id)
    profile = endpoint.profile
    told, known = engine.chat_template_hash, profile.chat_template_hash
    if told and known and told != known:
        _fenced(lease)
        _supersede(endpoint, profile, _key(endpoint, told))
        return False
    changed = bool(note_facts(profile, lease.run_id, engine.facts.items()))
    _fenced(
        lease,
        fingerprint=dict(engine.facts),
        fingerprint_changed=F("fingerprint_changed") if not changed else True,
        reserved_requests=F("reserved_requests") - MOST_REQUESTS,
        reserved_tokens=F("reserved_tokens") - MOST_TOKENS,
    )
    if told and not known:
        adopt_template(profile, told)
    return True


def note_facts(
    profile: Profile,
    run_id: int,
    facts: Iterable[tuple[str, str]],
    *,
    at: datetime | None = None,
) -> list[FingerprintChange]:
    """Keep what was told; a value never seen under this profile is a change.

    What the first run is told is none, since there is nothing to compare it with.
    """
    seen: dict[str, list[str]] = {name: list(values) for name, values in profile.facts_seen.items()}
    changes = []
    for name, value in facts:
        profile.fingerprint[name], before = value, profile.fingerprint.get(name)
        values = seen.setdefault(name, [])
        if value in values or len(values) >= MOST_VALUES:
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


def note_capabilities(profile: Profile, run: Run, found: Mapping[str, Capability]) -> None:
    """Keep what a run measured; what it did not try stays as an earlier run found it."""
    measured = {
        name: {**capability.as_json(), "run": run.pk}
        for name, capability in found.items()
        if capability.trials or name not in profile.capabilities
    }
    profile.capabilities = {**profile.capabilities, **measured}
    profile.probe_version, profile.verified_at = SUITE_VERSION, run.finished_at
    profile.save(update_fields=["capabilities", "probe_version", "verified_at"])


def note_text_format(profile: Profile, found: Mapping[str, Capability]) -> str | None:
    """The text format that the profile's calls come in; kept once the first calls were seen."""
    if profile.text_format is None and (seen := text_format(found)) is not None:
        profile.text_format = seen
        profile.save(update_fields=["text_format"])
    return profile.text_format


def open_next(current: Profile, chat_template_hash: str, *, at: datetime) -> Profile:
    """The epoch after this one, from a moment of the past: for history that is made up later."""
    endpoint = current.endpoint
    return _succeed(endpoint, current, _key(endpoint, chat_template_hash), at=at)


def put_in_force(profile: Profile) -> None:
    """Let the policy follow this profile from now on; the endpoint is locked.

    What people switched on goes with it; incidents of the older one are over.
    """
    older = profile.endpoint.profile_in_force
    if older.pk == profile.pk:
        return
    Profile.objects.filter(pk=older.pk).update(in_force=False)
    Profile.objects.filter(pk=profile.pk).update(in_force=True)
    profile.in_force = True
    modes.carry_over(older, profile)
    end_incidents_of(older, reason=PROMOTED)


def end_all(endpoint: Endpoint, *, reason: str) -> None:
    """End what is open of an endpoint that is taken out; it is locked."""
    for profile in Profile.objects.filter(Q(in_force=True) | Q(ended_at=None), endpoint=endpoint):
        end_incidents_of(profile, reason=reason)


def adopt_template(profile: Profile, chat_template_hash: str) -> None:
    """It was unknown so far, which is no change."""
    profile.chat_template_hash = chat_template_hash
    profile.key_hash = _key(profile.endpoint, chat_template_hash).digest()
    profile.save(update_fields=["chat_template_hash", "key_hash"])


def _supersede(endpoint: Endpoint, current: Profile, key: ProfileKey) -> None:
    _succeed(endpoint, current, key)
    settle(endpoint)
    runs.abandon_active_run(endpoint, reason=SUPERSEDED)
    Endpoint.objects.filter(pk=endpoint.pk).update(
        next_due_at=Now(),
        next_trigger=Trigger.KEY_CHANGE,
        fruitless=0,
        onboarding_left=settings.BASELINE_RUNS,
    )


def _succeed(
    endpoint: Endpoint, current: Profile, key: ProfileKey, *, at: datetime | None = None
) -> Profile:
    """Open the next epoch, in shadow. What callers are allowed stays as it is.

    The profile in force stays so while it allows anything; where it does not, nobody can tell the
    difference, and the new one takes its place.
    """
    held = endpoint.profile_in_force
    stays = stages.allows_tools(held.stage)
    Profile.objects.filter(pk=current.pk).update(ended_at=at or Now())
    if not stays:
        Profile.objects.filter(pk=held.pk).update(in_force=False)
    opened = _open(endpoint, key, epoch=current.epoch + 1, in_force=not stays, at=at)
    if not stays:
        modes.carry_over(held, opened, pinned_alone=True)
    for over in {current, held}:
        if not (stays and over == held):
            end_incidents_of(over, reason=KEY_CHANGED, at=at)
    return opened


def _open(
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


def _fenced(lease: Lease, **changes: object) -> None:
    """Change the run if this lease still holds it; the row lock makes that last."""
    mine = Run.objects.filter(
        pk=lease.run_id,
        lease_token=lease.token,
        state=State.RUNNING,
        lease_expires_at__gt=Now(),
    )
    if not mine.update(lease_token=lease.token, **changes):
        raise LeaseLost("The lease ran out or the run was cancelled.")
