"""Planning maintenance windows. They hold notices back; probing, detection and modes go on."""

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
    """Hold notices of an endpoint back for a time; of every endpoint where none is named.

    It begins now at the earliest: what was told already was not held back.
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
    """End a window before its time; False where it was over already."""
    mine = MaintenanceWindow.objects.filter(pk=window.pk, cancelled_at=None, ends_at__gt=Now())
    if not mine.update(cancelled_at=Now(), cancelled_by=by):
        return False
    audit.record(Action.MAINTENANCE_CANCELLED, subject=str(window), endpoint=window.endpoint, by=by)
    return True


def is_in_maintenance(endpoint_id: int) -> bool:
    """Whether notices of the endpoint are held back now, by the database's clock."""
    return MaintenanceWindow.objects.under_way().concerning(endpoint_id).exists()


def windows_between(endpoint: Endpoint, start: datetime, end: datetime) -> list[MaintenanceWindow]:
    """The windows that held in that time, the oldest first."""
    began = Q(cancelled_at=None) | Q(cancelled_at__gt=Greatest(F("starts_at"), Value(start)))
    maintenance_windows = MaintenanceWindow.objects.concerning(endpoint.pk).filter(
        began, starts_at__lt=end, ends_at__gt=start
    )
    return list(maintenance_windows.order_by("starts_at", "id"))


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
