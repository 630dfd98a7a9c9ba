"""The outbox: what is to be told to people, written in the transaction that it tells about."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now
from typing_extensions import override

from dashboard.models.endpoint import Endpoint
from dashboard.models.watch import Incident


class Notice(models.Model):
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
    # What is told, without secrets and without evidence: title, text, figures.
    body = models.JSONField()
    at = models.DateTimeField(db_default=Now())
    # Set once its deliveries are written, one for each channel that wants it.
    routed_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["id"], condition=models.Q(routed_at=None), name="notice_to_route"),
            models.Index(fields=["endpoint", "-id"], name="notice_of_endpoint"),
        ]

    @override
    def __str__(self) -> str:
        return f"notice {self.pk}: {self.kind}"
