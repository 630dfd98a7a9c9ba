"""What somebody changed about an endpoint: append-only, so that a fall can be laid beside it."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from typing_extensions import override

from dashboard.models.endpoint import Endpoint


class EndpointEdit(models.Model):
    endpoint = models.ForeignKey(Endpoint, models.CASCADE, related_name="edits")
    # Of each field that changed its name, and what it was and became, as text.
    changes = models.JSONField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [
            # The list of changes on an endpoint's page, newest first.
            models.Index(fields=["endpoint", "-at"], name="endpoint_edit_newest"),
        ]

    @override
    def __str__(self) -> str:
        return f"edit of endpoint {self.endpoint_id}"
