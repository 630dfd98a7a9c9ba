"""Resolving what holds now for an endpoint, with a version that only grows.

A service that changes what a policy depends on resolves it through settle.py, under the lock on
the endpoint's row, in the same transaction. The policy states until when it is good: a mode may
run out and a profile becomes stale without any change (policy_renewal.py).
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

CHANNEL = "toolgauge_policy"
# The lock between resolving, which shares it, and changing the rules that all policies share.
_RULES = 0x706F6C69


@dataclass(frozen=True, slots=True)
class _Known:
    """The facts of an endpoint, and until when they stay as they are."""

    facts: PolicyFacts
    good_until: datetime | None


def refresh(endpoint: Endpoint) -> None:
    """Resolve the endpoint's policy anew; the endpoint is locked."""
    # Somebody may be changing the rules: their change must be seen, or come after us.
    execute("SELECT pg_advisory_xact_lock_shared(%(key)s)", {"key": _RULES})
    known = _known(endpoint)
    body = resolve_policy(known.facts).body
    stored = Policy.objects.filter(endpoint=endpoint).first()
    if stored is None or stored.body != body:
        _put(endpoint, body, known.good_until)
    elif stored.good_until != known.good_until:
        Policy.objects.filter(endpoint=endpoint).update(good_until=known.good_until)


def outdate_all() -> None:
    """Let no policy be read before it was resolved anew: for changes that concern all of them.

    Waits for those who are resolving, and makes others wait until this transaction is over.
    """
    execute("SELECT pg_advisory_xact_lock(%(key)s)", {"key": _RULES})
    Policy.objects.update(good_until=Now())


def effective_of(profile: Profile) -> list[str]:
    """The modes that hold for a profile that is in force, or would if it were now."""
    endpoint = profile.endpoint
    manual = list(endpoint.profile_in_force.switches.on().manual().select_related("author"))
    return [
        mode.value
        for mode in resolve_policy(_of_profile(endpoint, profile, manual).facts).effective
    ]


def would_be(profile: Profile, stage: str, *, without: ModeSwitch | None = None) -> dict[str, Any]:
    """The policy if that profile were in force at that stage, and that mode let go of."""
    endpoint = profile.endpoint
    held = endpoint.profile_in_force.switches.on().manual().select_related("author")
    manual = [each for each in held if each != without]
    facts = _of_profile(endpoint, profile, manual).facts
    return resolve_policy(replace(facts, stage=stage)).body


def _known(endpoint: Endpoint) -> _Known:
    """The facts of the profile in force, with what the profile of the present key adds."""
    profiles = {each.in_force: each for each in _in_use(endpoint)}
    manual = list(profiles[True].switches.on().manual().select_related("author"))
    known = _of_profile(endpoint, profiles[True], manual)
    if False not in profiles:
        return known
    return replace(known, facts=replace(known.facts, candidate=_candidate(profiles[False])))


def _of_profile(endpoint: Endpoint, profile: Profile, manual: Sequence[ModeSwitch]) -> _Known:
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
        epoch=row.epoch,
        stage=row.stage,
        capabilities=row.capabilities,
        baseline=watch.gauge(Metric.PARSE_SUCCESS).known(PROBE),
        is_stale=is_stale,
        below_gate=watch.below_gate(),
        automatic=_automatic(profile),
        manual=[_switched(each) for each in manual],
        rules=[each.rule for each in ToolRule.objects.in_order()],
    )
    return _Known(facts, _earliest([*_ends(manual), None if is_stale else stale_at]))


def _candidate(profile: Profile) -> Candidate:
    said = f"Profile {profile.epoch}, which waits to be promoted: "
    return Candidate(
        profile.epoch,
        profile.stage,
        Watch.objects.state_of(profile).below_gate(),
        [replace(each, reason=said + each.reason) for each in _automatic(profile)],
    )


def _in_use(endpoint: Endpoint) -> QuerySet[Profile]:
    """The profile in force, and that of the present key where it is another one."""
    return Profile.objects.filter(Q(in_force=True) | Q(ended_at=None), endpoint=endpoint)


def _automatic(profile: Profile) -> list[ActiveMode]:
    by_incidents = profile.switches.on().filter(incident__isnull=False)
    return [_switched(each) for each in by_incidents.select_related("author")]


def _switched(switch: ModeSwitch) -> ActiveMode:
    return ActiveMode(
        Mode(switch.mode),
        switch.reason,
        switch.on_at.isoformat(),
        incident=switch.incident_id,
        author=switch.author.get_username() if switch.author else "",
        expires_at=switch.expires_at.isoformat() if switch.expires_at else None,
    )


def _ends(switches: Iterable[ModeSwitch]) -> list[datetime | None]:
    return [switch.expires_at for switch in switches]


def _earliest(moments: Iterable[datetime | None]) -> datetime | None:
    return min((moment for moment in moments if moment is not None), default=None)


def _put(endpoint: Endpoint, body: dict[str, Any], good_until: datetime | None) -> None:
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
    told = json.dumps({"endpoint": endpoint.slug, "version": version})
    execute("SELECT pg_notify(%(channel)s, %(told)s)", {"channel": CHANNEL, "told": told})


def _next_version() -> int:
    found = fetch_row("SELECT nextval('dashboard_policy_number')")
    assert found
    return int(found[0])
