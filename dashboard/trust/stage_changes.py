"""Changes the stage of a profile: after an approval, or as a step back that needs none."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from dashboard.audit import services as audit
from dashboard.core import permissions
from dashboard.core.errors import Refused
from dashboard.core.permissions import Right
from dashboard.core.reasons import clean_reason
from dashboard.models import Endpoint, Incident, Profile
from dashboard.models.audit import Action
from dashboard.models.profile import Stage
from dashboard.trust import profiles, rollout_notices
from dashboard.trust.settle import settle
from health import stages
from health.severity import Severity


def lock_endpoint(endpoint_id: int) -> Endpoint:
    return Endpoint.objects.select_for_update().get(pk=endpoint_id)


def check_right(by: User, right: Right, endpoint: Endpoint) -> None:
    """Refuse without the right; it counts now, not when the page was opened."""
    person = User.objects.filter(pk=by.pk, is_active=True).first()
    if person is None or not permissions.user_actor(person).may(right, endpoint.team_id):
        raise Refused(_NOT_ALLOWED[right]())


@transaction.atomic
def step_back(profile: Profile, *, to: str, by: User, reason: str) -> None:
    """Move a profile to a tighter stage at once, by one person. Refuses other stages."""
    reason = clean_reason(reason)
    endpoint, current = _lock_in_use(profile, by)
    if to not in stages.STAGES or to == Stage.REJECTED or not stages.is_tighter(to, current.stage):
        raise Refused(_("That is no step back. Going forward takes a request and a decision."))
    _tighten_stage(endpoint, current, to, by=by, reason=reason)
    profile.refresh_from_db()


@transaction.atomic
def reject_profile(profile: Profile, *, by: User, reason: str) -> None:
    """Reject a profile, which then has no tools."""
    reason = clean_reason(reason)
    endpoint, current = _lock_in_use(profile, by)
    if current.stage == Stage.REJECTED:
        raise Refused(_("The profile was rejected already."))
    _tighten_stage(endpoint, current, Stage.REJECTED, by=by, reason=reason)
    profile.refresh_from_db()


def step_back_after_incident(incident: Incident, *, reason: str) -> None:
    """Step back the profile of an incident as its severity requires; the endpoint is locked.

    The caller settles the endpoint in the same transaction.
    """
    profile = Profile.objects.select_related("endpoint").get(pk=incident.profile_id)
    to = stages.stage_after_incident(profile.stage, Severity(incident.severity))
    if to is None:
        return
    before = profile.stage
    write_stage(profile.endpoint, profile, to, by=None, reason=reason)
    rollout_notices.notify_stepped_back(
        profile, before=before, by=None, reason=reason, incident=incident
    )
    _retire_old_profile(profile)


def write_stage(
    endpoint: Endpoint, profile: Profile, to: str, *, by: User | None, reason: str
) -> None:
    """Store the stage with an audit entry; the endpoint is locked."""
    before = profile.stage
    Profile.objects.filter(pk=profile.pk).update(stage=to, stage_at=Now())
    profile.stage = to
    audit.record(
        Action.STAGE_CHANGED,
        subject=f"profile {profile.epoch}",
        endpoint=endpoint,
        by=by,
        reason=reason,
        before={"stage": before, "epoch": profile.epoch},
        after={"stage": to, "epoch": profile.epoch},
    )


def _tighten_stage(endpoint: Endpoint, profile: Profile, to: str, *, by: User, reason: str) -> None:
    before = profile.stage
    write_stage(endpoint, profile, to, by=by, reason=reason)
    rollout_notices.notify_stepped_back(profile, before=before, by=by, reason=reason)
    _retire_old_profile(profile)
    settle(endpoint)


def _retire_old_profile(profile: Profile) -> None:
    """Put the current profile in force if this one has an old key and allows no tools."""
    is_old = profile.in_force and profile.ended_at is not None
    if is_old and not stages.allows_tools(profile.stage):
        profiles.put_in_force(profile.endpoint.profile)


def _lock_in_use(profile: Profile, by: User) -> tuple[Endpoint, Profile]:
    endpoint = lock_endpoint(profile.endpoint_id)
    check_right(by, Right.TIGHTEN, endpoint)
    current = Profile.objects.select_related("endpoint").get(pk=profile.pk)
    if current.ended_at is not None and not current.in_force:
        raise Refused(_("This profile is history: nothing follows it any more."))
    return endpoint, current


_NOT_ALLOWED = {
    Right.READ: lambda: _("You may not see this endpoint."),
    Right.OPERATE: lambda: _("You may not ask for that: it takes an operator of this endpoint."),
    Right.DECIDE: lambda: _("You may not decide on that: it takes an approver of this endpoint."),
    Right.TIGHTEN: lambda: _("You may not do that: it takes an operator or an approver."),
}
