"""Switches modes: automatically by the severity of incidents, manually with a reason."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from dashboard.audit import services as audit
from dashboard.core import permissions
from dashboard.core.errors import Refused
from dashboard.core.permissions import Right
from dashboard.core.reasons import clean_reason
from dashboard.core.sql import set_idle_timeout
from dashboard.models import Endpoint, Incident, ModeSwitch, Notice, Profile
from dashboard.models.audit import Action
from dashboard.notifications.services import outbox
from dashboard.trust.settle import settle
from health.modes import EFFECTS, Mode, fallback_modes
from health.severity import Severity
from probes.outcomes import Metric

MAX_DURATION = timedelta(days=365)


def apply_incident(
    incident: Incident, *, reason: str, figures: dict[str, Any], at: datetime, tighten: bool
) -> None:
    """Switch the modes of an incident to what its severity requires; the endpoint is locked.

    Without `tighten` none is switched on: a required mode that is off was switched off by a person.
    """
    required = _required_modes(incident) if incident.ended_at is None else frozenset()
    active = {Mode(switch.mode): switch for switch in incident.switches.filter(off_at=None)}
    for mode in active.keys() - required:
        _store_end(active[mode], at=at, reason=reason)
    for mode in sorted(required - active.keys()) if tighten else ():
        ModeSwitch.objects.create(
            profile_id=incident.profile_id,
            incident=incident,
            mode=mode.value,
            reason=reason,
            figures={**figures, "severity": incident.severity},
            on_at=at,
        )


@transaction.atomic
def switch_on(  # noqa: PLR0913 -- keyword-only: the columns of a switch
    profile: Profile,
    mode: Mode,
    *,
    by: User | None,
    reason: str,
    lasts: timedelta | None = None,
    pinned: bool = False,
) -> ModeSwitch:
    """Switch a mode on manually, for some time or until it is switched off.

    One person can pin a mode; releasing it takes two.
    """
    endpoint = Endpoint.objects.select_for_update().get(pk=profile.endpoint_id)
    profile.refresh_from_db(fields=["in_force"])
    if not profile.in_force:
        raise Refused(
            _("This profile has been superseded; switch the mode on for the one in force.")
        )
    _end_expired(endpoint)
    try:
        with transaction.atomic():
            switch = ModeSwitch.objects.create(
                profile=profile,
                mode=mode.value,
                reason=clean_reason(reason),
                author=by,
                pinned=pinned,
                expires_at=Now() + _check_duration(lasts) if lasts is not None else None,
            )
    except IntegrityError as exc:
        raise Refused(_already_on_message(profile, mode)) from exc
    switch.refresh_from_db()
    audit.record(
        Action.MODE_ON,
        subject=_subject(switch),
        endpoint=endpoint,
        by=by,
        reason=switch.reason,
        after=_as_json(switch),
    )
    what = "was pinned" if pinned else "was switched on"
    _notify(endpoint, switch, f"{mode.value} {what}", by, reason)
    settle(endpoint)
    return switch


def _already_on_message(profile: Profile, mode: Mode) -> str:
    """Says who switched the mode on first; the lock on the endpoint keeps that switch on."""
    active = profile.switches.filter(mode=mode.value, incident=None, off_at=None)
    switch = active.select_related("author").get()
    if switch.author is None:
        return _("Somebody has switched {mode} on meanwhile: {reason}").format(
            mode=mode.value, reason=switch.reason
        )
    return _("{name} has switched {mode} on meanwhile: {reason}").format(
        name=switch.author.get_username(), mode=mode.value, reason=switch.reason
    )


@transaction.atomic
def switch_off(switch: ModeSwitch, *, by: User | None, reason: str = "") -> bool:
    """Switch a mode off, manual or automatic; False if it was off already.

    An automatic mode stays off until its incident becomes more severe.
    """
    endpoint = Endpoint.objects.select_for_update(of=("self",)).get(profiles=switch.profile_id)
    current = ModeSwitch.objects.get(pk=switch.pk)
    if current.off_at is not None:
        return False
    if current.pinned:
        raise Refused(
            _("{mode} is pinned. Ask for its release: it takes a second person.").format(
                mode=current.mode
            )
        )
    if current.incident_id is not None:
        reason = clean_reason(reason)
        _check_can_decide(by, endpoint)
    end_switch(endpoint, current, by=by, reason=reason)
    return True


def end_switch(endpoint: Endpoint, switch: ModeSwitch, *, by: User | None, reason: str) -> None:
    """End a switch, pinned or not, and send a notice; the endpoint is locked."""
    before = _as_json(switch)
    _store_end(switch, at=Now(), by=by, reason=reason)
    audit.record(
        Action.MODE_OFF,
        subject=_subject(switch),
        endpoint=endpoint,
        by=by,
        reason=reason,
        before=before,
    )
    _notify(endpoint, switch, f"{switch.mode} was switched off", by, reason)
    settle(endpoint)


def _check_can_decide(by: User | None, endpoint: Endpoint) -> None:
    """Only approvers may undo a mode of an incident; commands and schedules have no `by`."""
    if by is not None and not permissions.user_actor(by).may(Right.DECIDE, endpoint.team_id):
        raise Refused(_("An incident switched it on: only an approver may switch it off."))


def carry_over_switches(older: Profile, newer: Profile, *, pinned_only: bool = False) -> None:
    """Move the manual modes of a profile to the newer one; the endpoint is locked.

    A pinned mode is always moved: editing an endpoint does not release it.
    """
    switches = older.switches.on().manual()
    for switch in switches.filter(pinned=True) if pinned_only else switches:
        _store_end(switch, at=Now(), reason=f"It went on for profile {newer.epoch}.")
        copied = ("mode", "reason", "author_id", "pinned", "on_at", "expires_at", "figures")
        ModeSwitch.objects.create(profile=newer, **{name: getattr(switch, name) for name in copied})


def expire_modes() -> int:
    """End the switches past their time; returns how many. Concurrent calls are safe."""
    due = ModeSwitch.objects.filter(off_at=None, expires_at__lte=Now())
    ended = 0
    for endpoint_id in set(due.values_list("profile__endpoint_id", flat=True)):
        ended += _expire_modes_of(endpoint_id)
    return ended


@transaction.atomic
def _expire_modes_of(endpoint_id: int) -> int:
    set_idle_timeout()
    endpoint = Endpoint.objects.select_for_update().get(pk=endpoint_id)
    ended = _end_expired(endpoint)
    settle(endpoint)
    return ended


def _end_expired(endpoint: Endpoint) -> int:
    due = ModeSwitch.objects.filter(profile__endpoint=endpoint, off_at=None, expires_at__lte=Now())
    switches = list(due)
    for switch in switches:
        assert switch.expires_at is not None
        before = _as_json(switch)
        _store_end(switch, at=switch.expires_at, reason="Its time was over.")
        audit.record(
            Action.MODE_OFF,
            subject=_subject(switch),
            endpoint=endpoint,
            reason=switch.off_reason,
            before=before,
        )
        _notify(endpoint, switch, f"{switch.mode} has run out", None, switch.reason)
    return len(switches)


def end_all_switches(profile: Profile, *, reason: str, at: datetime | Now | None = None) -> None:
    """End all switches of a superseded profile; the endpoint is locked."""
    for switch in profile.switches.filter(off_at=None):
        _store_end(switch, at=at or Now(), reason=reason)


def _required_modes(incident: Incident) -> frozenset[Mode]:
    return fallback_modes(Metric(incident.metric), Severity(incident.severity))


def _store_end(
    switch: ModeSwitch, *, at: datetime | Now, reason: str, by: User | None = None
) -> None:
    switch.off_by, switch.off_reason = by, reason
    switch.off_at = at
    switch.save(update_fields=["off_at", "off_by", "off_reason"])


def _check_duration(lasts: timedelta) -> timedelta:
    if not timedelta() < lasts <= MAX_DURATION:
        raise Refused(_("A mode lasts at most a year; leave the time empty for no end."))
    return lasts


def _subject(switch: ModeSwitch) -> str:
    return f"mode {switch.mode}"


def _as_json(switch: ModeSwitch) -> dict[str, Any]:
    return {
        "mode": switch.mode,
        "switch": switch.pk,
        "incident": switch.incident_id,
        "pinned": switch.pinned,
        "expires_at": switch.expires_at.isoformat() if switch.expires_at else None,
    }


def _notify(
    endpoint: Endpoint, switch: ModeSwitch, what: str, by: User | None, reason: str
) -> None:
    who = f" by {by.get_username()}" if by else ""
    body = {
        "title": f"{endpoint.slug}: {what}{who}",
        "text": f"{EFFECTS[Mode(switch.mode)]} {reason}".strip(),
        "mode": switch.mode,
        "on": switch.off_at is None,
    }
    outbox.put_notice(
        Notice.Kind.MODE_CHANGED, endpoint=endpoint, body=body, incident=switch.incident
    )
