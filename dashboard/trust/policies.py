"""Resolves the current policy of an endpoint, with a version that only grows.

A service that changes what a policy depends on resolves it through settle.py, under the lock on
the endpoint's row, in the same transaction. The policy states until when it is good: a mode can
expire and a profile can become stale without any change (policy_renewal.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce, Now

from dashboard.core.sql import execute, fetch_row
from dashboard.models import (
    Endpoint,
    FingerprintChange,
    ModeSwitch,
    Policy,
    PolicyVersion,
    Profile,
    ToolRule,
    Watch,
)
from health.detector import PROBE
from health.modes import Mode
from health.policy import resolve_policy
from health.policy_facts import ActiveMode, Candidate, PolicyFacts
from probes.outcomes import Metric
from probes.strict_json import is_same_json

CHANNEL = "toolgauge_policy"
# Resolving shares this lock; changing the tool rules, which are in every policy, takes it alone.
_RULES_LOCK = 0x706F6C69


@dataclass(frozen=True, slots=True)
class _TimedFacts:
    """The facts of a policy, and until when they are good."""

    facts: PolicyFacts
    good_until: datetime | None


def refresh_policy(endpoint: Endpoint) -> None:
    """Resolve the endpoint's policy again; the endpoint is locked."""
    # A concurrent change of the rules is either seen here or waits for this transaction.
    execute("SELECT pg_advisory_xact_lock_shared(%(key)s)", {"key": _RULES_LOCK})
    timed = _read_facts(endpoint)
    body = resolve_policy(timed.facts).body
    stored = Policy.objects.filter(endpoint=endpoint).first()
    if stored is None or stored.body != body:
        _store_policy(endpoint, body, timed.good_until)
    elif stored.good_until != timed.good_until:
        Policy.objects.filter(endpoint=endpoint).update(good_until=timed.good_until)


def outdate_all() -> None:
    """Outdate every policy, for a change that concerns all of them.

    Waits for transactions that are resolving, and blocks others until this one ends.
    """
    execute("SELECT pg_advisory_xact_lock(%(key)s)", {"key": _RULES_LOCK})
    Policy.objects.update(good_until=Now())


def effective_modes(profile: Profile) -> list[str]:
    """The modes in effect for a profile if it is, or were, in force."""
    endpoint = profile.endpoint
    manual = list(endpoint.profile_in_force.switches.on().manual().select_related("author"))
    return [
        mode.value
        for mode in resolve_policy(_read_profile_facts(endpoint, profile, manual).facts).effective
    ]


def preview_policy(
    profile: Profile, stage: str, *, without: ModeSwitch | None = None
) -> dict[str, Any]:
    """The policy if the profile were in force at that stage, without that manual switch."""
    endpoint = profile.endpoint
    switches = endpoint.profile_in_force.switches.on().manual().select_related("author")
    manual = [switch for switch in switches if switch != without]
    facts = _read_profile_facts(endpoint, profile, manual).facts
    return resolve_policy(replace(facts, stage=stage)).body


def _read_facts(endpoint: Endpoint) -> _TimedFacts:
    """The facts of the profile in force, with those of the candidate, if there is one."""
    profiles = {each.in_force: each for each in _profiles_in_use(endpoint)}
    manual = list(profiles[True].switches.on().manual().select_related("author"))
    timed = _read_profile_facts(endpoint, profiles[True], manual)
    if False not in profiles:
        return timed
    candidate = _candidate(profiles[False], profiles[True])
    return replace(timed, facts=replace(timed.facts, candidate=candidate))


def _read_profile_facts(
    endpoint: Endpoint, profile: Profile, manual: Sequence[ModeSwitch]
) -> _TimedFacts:
    row: Any = Profile.objects.annotate(
        now=Now(), seen_at=Coalesce(F("verified_at"), F("created_at"))
    ).get(pk=profile.pk)
    stale_at: datetime = row.seen_at + 2 * endpoint.ttl
    is_stale = stale_at <= row.now
    watch = Watch.objects.state_of(profile)
    facts = PolicyFacts(
        endpoint=endpoint.slug,
        provider=row.provider,
        model=row.model,
        endpoint_url=row.endpoint_url,
        chat_template_hash=row.chat_template_hash,
        dialect=row.dialect,
        options=row.options,
        epoch=row.epoch,
        stage=row.stage,
        capabilities=row.capabilities,
        baseline=watch.gauge(Metric.PARSE_SUCCESS).known(PROBE),
        is_stale=is_stale,
        has_new_engine=_has_new_engine(row),
        below_gate=watch.below_gate(),
        automatic=_automatic_modes(profile),
        manual=[_active_mode(each) for each in manual],
        rules=[each.rule for each in ToolRule.objects.in_order()],
    )
    return _TimedFacts(facts, _earliest([*_expiry_times(manual), None if is_stale else stale_at]))


def _candidate(profile: Profile, in_force: Profile) -> Candidate:
    is_same_target = is_same_json(list(_target(profile)), list(_target(in_force)))
    is_of_vendor = is_same_target and profile.has_template_of_vendor
    prefix = f"Profile {profile.epoch}, which waits to be promoted: "
    return Candidate(
        profile.epoch,
        profile.stage,
        *_target(profile),
        # An operator changes the target or declares a template; one that is shown is the vendor's.
        "vendor" if is_of_vendor else "operator",
        Watch.objects.state_of(profile).below_gate(),
        [replace(each, reason=prefix + each.reason) for each in _automatic_modes(profile)],
    )


def _target(profile: Profile) -> tuple[str, str, str, str, dict[str, Any]]:
    """In the order of the fields of a Candidate."""
    key = profile.provider, profile.model, profile.endpoint_url
    return *key, profile.dialect, profile.options


def _has_new_engine(profile: Profile) -> bool:
    """Whether the engine changed after the last verdict on this profile."""
    changes = FingerprintChange.objects.filter(profile=profile, fact="engine")
    return bool(profile.verified_at) and changes.filter(at__gt=profile.verified_at).exists()


def _profiles_in_use(endpoint: Endpoint) -> QuerySet[Profile]:
    """The profile in force, and the profile of the current key if it is another one."""
    return Profile.objects.filter(Q(in_force=True) | Q(ended_at=None), endpoint=endpoint)


def _automatic_modes(profile: Profile) -> list[ActiveMode]:
    by_incidents = profile.switches.on().filter(incident__isnull=False)
    return [_active_mode(each) for each in by_incidents.select_related("author")]


def _active_mode(switch: ModeSwitch) -> ActiveMode:
    return ActiveMode(
        Mode(switch.mode),
        switch.reason,
        switch.on_at.isoformat(),
        incident=switch.incident_id,
        author=switch.author.get_username() if switch.author else "",
        expires_at=switch.expires_at.isoformat() if switch.expires_at else None,
    )


def _expiry_times(switches: Iterable[ModeSwitch]) -> list[datetime | None]:
    return [switch.expires_at for switch in switches]


def _earliest(moments: Iterable[datetime | None]) -> datetime | None:
    return min((moment for moment in moments if moment is not None), default=None)


def _store_policy(endpoint: Endpoint, body: dict[str, Any], good_until: datetime | None) -> None:
    version = _next_version()
    Policy.objects.bulk_create(
        [
            Policy(
                endpoint=endpoint,
                version=version,
                body=body,
                good_until=good_until,
                changed_at=Now(),
            )
        ],
        update_conflicts=True,
        unique_fields=["endpoint"],
        update_fields=["version", "body", "good_until", "changed_at"],
    )
    PolicyVersion.objects.create(version=version, endpoint=endpoint, body=body)
    payload = json.dumps({"endpoint": endpoint.slug, "version": version})
    execute("SELECT pg_notify(%(channel)s, %(payload)s)", {"channel": CHANNEL, "payload": payload})


def _next_version() -> int:
    row = fetch_row("SELECT nextval('dashboard_policy_number')")
    assert row
    return int(row[0])
