"""Notifications: the outbox, channels, deliveries and maintenance windows."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from typing_extensions import override

from dashboard.models.endpoint import Endpoint
from dashboard.models.watch import Incident


class Notice(models.Model):
    """The outbox: a notice is written in the transaction of the event that it reports."""

    class Kind(models.TextChoices):
        OPENED = "incident.opened"
        ESCALATED = "incident.escalated"
        RECOVERED = "incident.recovered"
        MODE_CHANGED = "mode.changed"
        DECISION_WANTED = "decision.wanted"
        ROLLOUT_REQUESTED = "rollout.requested"
        ROLLOUT_DECIDED = "rollout.decided"
        STAGE_CHANGED = "stage.changed"
        REMINDER = "incident.reminder"
        FLAPPING = "incident.flapping"
        TEST = "test"

    kind = models.CharField(max_length=24, choices=Kind)
    endpoint = models.ForeignKey(Endpoint, models.CASCADE, null=True, related_name="notices")
    incident = models.ForeignKey(Incident, models.CASCADE, null=True, related_name="notices")
    # The content, without secrets and without evidence: title, text, figures.
    body = models.JSONField()
    at = models.DateTimeField(db_default=Now())
    # Set once its deliveries are written, one per channel that subscribes to it.
    routed_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["id"], condition=models.Q(routed_at=None), name="notice_to_route"),
            models.Index(fields=["endpoint", "-id"], name="notice_of_endpoint"),
        ]

    @override
    def __str__(self) -> str:
        return f"notice {self.pk}: {self.kind}"


# A test is requested for one channel, and reaches it whatever it subscribes to.
WANTED = [kind for kind in Notice.Kind.values if kind != Notice.Kind.TEST]


class ChannelQuerySet(models.QuerySet["Channel"]):
    def kept(self) -> Self:
        return self.filter(removed_at=None)


class Channel(models.Model):
    """Where notices are sent, which ones, and the quiet hours."""

    class Kind(models.TextChoices):
        APPRISE = "apprise", _("Apprise: Slack, e-mail, Teams, Discord and others")
        WEBHOOK = "webhook", _("Signed webhook")

    name = models.CharField(max_length=80)
    kind = models.CharField(max_length=16, choices=Kind)
    # The URL often holds a token, so it is encrypted.
    sealed_url = models.BinaryField()
    # The part of the URL that may be shown.
    hint = models.CharField(max_length=300)
    # Webhooks: the signing secret, and the previous one, which still signs after a rotation.
    sealed_secret = models.BinaryField(null=True)
    sealed_previous = models.BinaryField(null=True)
    previous_until = models.DateTimeField(null=True)
    # Empty means all.
    kinds = models.JSONField(default=list, blank=True)
    min_severity = models.PositiveSmallIntegerField(default=1)
    # Local times of the time zone; both or none.
    quiet_from = models.TimeField(null=True)
    quiet_until = models.TimeField(null=True)
    time_zone = models.CharField(max_length=64, default="UTC")
    remind_every = models.DurationField(null=True)
    group_for = models.DurationField(default=timedelta(seconds=60))
    enabled = models.BooleanField(default=True)
    # Why the system turned it off.
    note = models.TextField(blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    created_at = models.DateTimeField(db_default=Now())
    removed_at = models.DateTimeField(null=True)

    objects = ChannelQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["name"], condition=Q(removed_at=None), name="channel_name_once"
            ),
            models.CheckConstraint(
                condition=Q(kinds__contained_by=WANTED), name="channel_kinds_known"
            ),
            models.CheckConstraint(
                condition=Q(min_severity__range=(1, 3)), name="channel_severity_known"
            ),
            models.CheckConstraint(
                condition=Q(quiet_from=None, quiet_until=None)
                | Q(quiet_from__isnull=False, quiet_until__isnull=False),
                name="channel_quiet_whole",
            ),
        ]

    @override
    def __str__(self) -> str:
        return self.name


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    def newest_first(self) -> Self:
        return self.order_by("-id")

    def gathering(self) -> Self:
        """Deliveries that were never tried and can still take another notice."""
        return self.filter(state=Delivery.State.WAITING, tries=0, is_test=False)


class Delivery(models.Model):
    """One message to one channel, about one notice or several."""

    class State(models.TextChoices):
        WAITING = "waiting"
        SENT = "sent"
        FAILED = "failed"
        DROPPED = "dropped"  # never meant to be sent: maintenance, flapping, a channel gone

    channel = models.ForeignKey(Channel, models.CASCADE, related_name="deliveries")
    notices = models.ManyToManyField(Notice, related_name="deliveries")
    state = models.CharField(max_length=16, choices=State, default=State.WAITING)
    # Sent at once: neither batched nor held during quiet hours.
    urgent = models.BooleanField(default=False)
    # Requested on the channel's page, and sent even if the channel is off.
    is_test = models.BooleanField(default=False)
    tries = models.PositiveSmallIntegerField(default=0)
    next_try_at = models.DateTimeField(db_default=Now())
    last_error = models.TextField(blank=True)
    last_status = models.PositiveSmallIntegerField(null=True)
    # The same at every try, so that a receiver can recognise duplicates.
    webhook_id = models.UUIDField(unique=True)
    created_at = models.DateTimeField(db_default=Now())
    sent_at = models.DateTimeField(null=True)
    # The sender holds the lease with this token; an older token can no longer write.
    token = models.PositiveIntegerField(default=0)
    leased_until = models.DateTimeField(null=True)

    objects = DeliveryQuerySet.as_manager()

    class Meta:
        indexes = [
            # deliveries.send_due: waiting deliveries, the longest due first.
            models.Index(
                fields=["next_try_at"], condition=Q(state="waiting"), name="delivery_waiting"
            ),
            # The log of a channel.
            models.Index(fields=["channel", "-id"], name="delivery_of_channel"),
        ]

    @override
    def __str__(self) -> str:
        return f"delivery {self.pk}"


class MaintenanceWindowQuerySet(models.QuerySet["MaintenanceWindow"]):
    def under_way(self) -> Self:
        """Rows in effect now, by the database's clock."""
        return self.filter(cancelled_at=None, starts_at__lte=Now(), ends_at__gt=Now())

    def concerning(self, endpoint_id: int) -> Self:
        """Windows of that endpoint and windows of all endpoints."""
        return self.filter(Q(endpoint=None) | Q(endpoint_id=endpoint_id))


class MaintenanceWindow(models.Model):
    """A period in which notices are held back. Probing continues."""

    # Null is every endpoint.
    endpoint = models.ForeignKey(Endpoint, models.CASCADE, null=True, related_name="windows")
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    reason = models.TextField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="windows_planned"
    )
    created_at = models.DateTimeField(db_default=Now())
    cancelled_at = models.DateTimeField(null=True)
    cancelled_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="windows_cancelled"
    )

    objects = MaintenanceWindowQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(ends_at__gt=F("starts_at")), name="maintenance_ends_after_start"
            ),
        ]
        indexes = [
            # maintenance.is_quiet, and the bands of a chart: by when they end.
            models.Index(fields=["ends_at"], name="maintenance_by_end"),
        ]

    @override
    def __str__(self) -> str:
        return f"maintenance {self.pk}"

    @property
    def over_at(self) -> datetime:
        """When the window ended or will end, as planned or by cancellation."""
        return min(self.ends_at, self.cancelled_at or self.ends_at)
