"""Sends reminders of open incidents that are not acknowledged."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now

from dashboard.core import durations
from dashboard.core.sql import fetch_row, set_idle_timeout
from dashboard.models import Channel, Incident, Notice
from dashboard.notifications.services import routing
from health.metric_names import NAMES
from probes.outcomes import Metric


def send_reminders() -> int:
    """Queue the due reminders of all channels and return their number."""
    reminding = Channel.objects.kept().filter(enabled=True, remind_every__isnull=False)
    return sum(_remind_channel(pk) for pk in reminding.order_by("id").values_list("id", flat=True))


@transaction.atomic
def _remind_channel(channel_id: int) -> int:
    set_idle_timeout()
    # The lock keeps concurrent workers from reminding twice.
    enabled = Channel.objects.kept().filter(pk=channel_id, enabled=True)
    channel = enabled.select_for_update().first()
    if channel is None or channel.remind_every is None:
        return 0
    count = 0
    for incident in _due_incidents(channel, channel.remind_every):
        endpoint = incident.profile.endpoint
        notice = Notice(
            kind=Notice.Kind.REMINDER,
            endpoint=endpoint,
            incident=incident,
            body=_reminder_body(incident),
            routed_at=Now(),
        )
        if not routing.accepts_notice(channel, notice) or routing.is_suppressed(endpoint.pk):
            continue
        notice.save()
        routing.add_to_delivery(channel, notice)
        count += 1
    return count


def _due_incidents(channel: Channel, every: timedelta) -> QuerySet[Incident]:
    recent_notices = Notice.objects.filter(
        incident=OuterRef("pk"), deliveries__channel=channel, at__gt=Now() - every
    )
    return Incident.objects.filter(
        ~Exists(recent_notices),
        state=Incident.State.OPEN,
        acknowledged_at=None,
        opened_at__lte=Now() - every,
        profile__endpoint__removed_at=None,
    ).select_related("profile__endpoint")


def _reminder_body(incident: Incident) -> dict[str, object]:
    row = fetch_row(
        "SELECT statement_timestamp() - opened_at FROM dashboard_incident WHERE id = %(id)s",
        {"id": incident.pk},
    )
    open_for = durations.format_rough_duration(row[0] if row else timedelta())
    name = NAMES[Metric(incident.metric)]
    return {
        "title": f"{incident.profile.endpoint.slug}: {name} is still degraded",
        "text": f"Open for {open_for}, and nobody has acknowledged it.",
        "metric": incident.metric,
        "severity": incident.severity,
        "figures": incident.figures,
    }
