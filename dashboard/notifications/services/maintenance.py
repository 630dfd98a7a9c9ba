"""Plans maintenance windows, which suppress notices but not probing, detection and modes."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Q, Value
from django.db.models.functions import Greatest, Now
from django.utils.translation import gettext as _

from dashboard.audit import services as audit
from dashboard.core.errors import Refused
from dashboard.core.sql import fetch_row
from dashboard.models import Endpoint, MaintenanceWindow
from dashboard.models.audit import Action

MAX_WINDOW = timedelta(days=90)
MAX_REASON_LENGTH = 1000


@transaction.atomic
def plan_window(
    endpoint: Endpoint | None,
    starts_at: datetime,
    ends_at: datetime,
    *,
    by: User | None,
    reason: str,
) -> MaintenanceWindow:
    """Suppress the notices of an endpoint, or of all endpoints, for a time.

    A window starts now at the earliest, since earlier notices were already sent.
    """
    _check_span(starts_at, ends_at)
    window = MaintenanceWindow.objects.create(
        endpoint=endpoint,
        starts_at=Greatest(Value(starts_at), Now()),
        ends_at=ends_at,
        reason=_clean_reason(reason),
        created_by=by,
    )
    window.refresh_from_db()
    audit.record(
        Action.MAINTENANCE_PLANNED,
        subject=str(window),
        endpoint=endpoint,
        by=by,
        reason=window.reason,
        after={"starts_at": window.starts_at, "ends_at": window.ends_at},
    )
    return window


@transaction.atomic
def cancel_window(window: MaintenanceWindow, *, by: User | None) -> bool:
    """End a window early. Returns False if it is already over."""
    active = MaintenanceWindow.objects.filter(pk=window.pk, cancelled_at=None, ends_at__gt=Now())
    if not active.update(cancelled_at=Now(), cancelled_by=by):
        return False
    audit.record(Action.MAINTENANCE_CANCELLED, subject=str(window), endpoint=window.endpoint, by=by)
    return True


def is_in_maintenance(endpoint_id: int) -> bool:
    """A window suppresses the notices of the endpoint now, by the clock of the database."""
    return MaintenanceWindow.objects.under_way().concerning(endpoint_id).exists()


def windows_between(endpoint: Endpoint, start: datetime, end: datetime) -> list[MaintenanceWindow]:
    """The windows that were active in that time, the oldest first."""
    was_active = Q(cancelled_at=None) | Q(cancelled_at__gt=Greatest(F("starts_at"), Value(start)))
    windows = MaintenanceWindow.objects.concerning(endpoint.pk).filter(
        was_active, starts_at__lt=end, ends_at__gt=start
    )
    return list(windows.order_by("starts_at", "id"))


def _check_span(starts_at: datetime, ends_at: datetime) -> None:
    if ends_at <= starts_at:
        raise Refused(_("It must end after it begins."))
    if ends_at - starts_at > MAX_WINDOW:
        text = _("At most {days} days; switch a channel off to silence it for good.")
        raise Refused(text.format(days=MAX_WINDOW.days))
    row = fetch_row("SELECT %(end)s <= statement_timestamp()", {"end": ends_at})
    if row and row[0]:
        raise Refused(_("It would be over already. Times are in UTC."))


def _clean_reason(reason: str) -> str:
    reason = reason.strip().replace("\0", "")
    if not reason:
        raise Refused(_("Say why: others will want to know it."))
    if len(reason) > MAX_REASON_LENGTH:
        text = _("The reason is longer than {count} characters.")
        raise Refused(text.format(count=MAX_REASON_LENGTH))
    return reason
