"""Switching modes: by incidents as far as their severity asks, by people with a reason."""

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

LONGEST = timedelta(days=365)


def follow(
    incident: Incident, *, reason: str, figures: dict[str, Any], at: datetime, tighten: bool
) -> None:
    """Have on what the incident's severity asks for, and nothing more; the endpoint is locked.

    Unless it became more severe, what is missing was switched off by somebody, and stays off.
    """
    wanted = _asked_for(incident) if incident.ended_at is None else frozenset()
    held = {Mode(switch.mode): switch for switch in incident.switches.filter(off_at=None)}
    for mode in held.keys() - wanted:
        _end(held[mode], at=at, reason=reason)
    for mode in sorted(wanted - held.keys()) if tighten else ():
        ModeSwitch.objects.create(
            profile_id=incident.profile_id,
            incident=incident,
            mode=mode.value,
            reason=reason,
            figures={**figures, "severity": incident.severity},
            on_at=at,
        )


@transaction.atomic
def switch_on(  # noqa: PLR0913 -- keyword-only: what a switch says
    profile: Profile,
    mode: Mode,
    *,
    by: User | None,
    reason: str,
    lasts: timedelta | None = None,
    pinned: bool = False,
) -> ModeSwitch:
    """Switch a mode on by hand, for some time or until somebody switches it off.

    One person pins it; to let go of a pinned one takes two.
    """
    endpoint = Endpoint.objects.select_for_update().get(pk=profile.endpoint_id)
    profile.refresh_from_db(fields=["in_force"])
    if not profile.in_force:
        raise Refused(
            _("This profile has been superseded; switch the mode on for the one in force.")
        )
    _end_due(endpoint)
    try:
        with transaction.atomic():
            switch = ModeSwitch.objects.create(
                profile=profile,
                mode=mode.value,
                reason=clean_reason(reason),
                author=by,
                pinned=pinned,
                expires_at=Now() + _checked_time(lasts) if lasts is not None else None,
            )
    except IntegrityError as exc:
        raise Refused(_held_by(profile, mode)) from exc
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
    _tell(endpoint, switch, f"{mode.value} {what}", by, reason)
    settle(endpoint)
    return switch


def _held_by(profile: Profile, mode: Mode) -> str:
    """Who was faster; the endpoint is locked, so it holds still."""
    held = profile.switches.filter(mode=mode.value, incident=None, off_at=None)
    switch = held.select_related("author").get()
    if switch.author is None:
        return _("Somebody has switched {mode} on meanwhile: {reason}").format(
            mode=mode.value, reason=switch.reason
        )
    return _("{name} has switched {mode} on meanwhile: {reason}").format(
        name=switch.author.get_username(), mode=mode.value, reason=switch.reason
    )


@transaction.atomic
def switch_off(switch: ModeSwitch, *, by: User | None, reason: str = "") -> bool:
    """Switch off what was on, whoever had switched it on; False where it was off already.

    An automatic one stays off until its incident becomes more severe.
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
        _check_may_decide(by, endpoint)
    let_go(endpoint, current, by=by, reason=reason)
    return True


def let_go(endpoint: Endpoint, switch: ModeSwitch, *, by: User | None, reason: str) -> None:
    """End a switch, pinned or not, and tell it; the endpoint is locked."""
    before = _as_json(switch)
    _end(switch, at=Now(), by=by, reason=reason)
    audit.record(
        Action.MODE_OFF,
        subject=_subject(switch),
        endpoint=endpoint,
        by=by,
        reason=reason,
        before=before,
    )
    _tell(endpoint, switch, f"{switch.mode} was switched off", by, reason)
    settle(endpoint)


def _check_may_decide(by: User | None, endpoint: Endpoint) -> None:
    """What an incident wants is not for everybody to undo; commands and schedules may."""
    if by is not None and not permissions.user_actor(by).may(Right.DECIDE, endpoint.team_id):
        raise Refused(_("An incident switched it on: only an approver may switch it off."))


def carry_over(older: Profile, newer: Profile, *, pinned_alone: bool = False) -> None:
    """Have on for a profile what people switched on for the one before; the endpoint is locked.

    A pinned mode always goes along: no edit of an endpoint lets go of it.
    """
    held = older.switches.on().manual()
    for switch in held.filter(pinned=True) if pinned_alone else held:
        _end(switch, at=Now(), reason=f"It went on for profile {newer.epoch}.")
        same = ("mode", "reason", "author_id", "pinned", "on_at", "expires_at", "figures")
        ModeSwitch.objects.create(profile=newer, **{name: getattr(switch, name) for name in same})


def expire() -> int:
    """End what has run out; returns how many. Any number of callers at once."""
    due = ModeSwitch.objects.filter(off_at=None, expires_at__lte=Now())
    ended = 0
    for endpoint_id in set(due.values_list("profile__endpoint_id", flat=True)):
        ended += _expire_of(endpoint_id)
    return ended


@transaction.atomic
def _expire_of(endpoint_id: int) -> int:
    set_idle_timeout()
    endpoint = Endpoint.objects.select_for_update().get(pk=endpoint_id)
    ended = _end_due(endpoint)
    settle(endpoint)
    return ended


def _end_due(endpoint: Endpoint) -> int:
    due = ModeSwitch.objects.filter(profile__endpoint=endpoint, off_at=None, expires_at__lte=Now())
    switches = list(due)
    for switch in switches:
        assert switch.expires_at is not None
        before = _as_json(switch)
        _end(switch, at=switch.expires_at, reason="Its time was over.")
        audit.record(
            Action.MODE_OFF,
            subject=_subject(switch),
            endpoint=endpoint,
            reason=switch.off_reason,
            before=before,
        )
        _tell(endpoint, switch, f"{switch.mode} has run out", None, switch.reason)
    return len(switches)


def drop_all(profile: Profile, *, reason: str, at: datetime | Now | None = None) -> None:
    """End everything of a profile that is over; the endpoint is locked."""
    for switch in profile.switches.filter(off_at=None):
        _end(switch, at=at or Now(), reason=reason)


def _asked_for(incident: Incident) -> frozenset[Mode]:
    return fallback_modes(Metric(incident.metric), Severity(incident.severity))


def _end(switch: ModeSwitch, *, at: datetime | Now, reason: str, by: User | None = None) -> None:
    switch.off_by, switch.off_reason = by, reason
    switch.off_at = at
    switch.save(update_fields=["off_at", "off_by", "off_reason"])


def _checked_time(lasts: timedelta) -> timedelta:
    if not timedelta() < lasts <= LONGEST:
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


def _tell(endpoint: Endpoint, switch: ModeSwitch, what: str, by: User | None, reason: str) -> None:
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
