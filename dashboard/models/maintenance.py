"""Times in which nobody wants to be told: notices are held back, probing goes on."""

from __future__ import annotations

from datetime import datetime
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from typing_extensions import override

from dashboard.models.endpoint import Endpoint


class MaintenanceWindowQuerySet(models.QuerySet["MaintenanceWindow"]):
    def under_way(self) -> Self:
        """Those that hold now, by the database's clock."""
        return self.filter(cancelled_at=None, starts_at__lte=Now(), ends_at__gt=Now())

    def concerning(self, endpoint_id: int) -> Self:
        """Of that endpoint, and of all endpoints together."""
        return self.filter(Q(endpoint=None) | Q(endpoint_id=endpoint_id))


class MaintenanceWindow(models.Model):
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
        """When it ended or will end, by its plan or because somebody cancelled it."""
        return min(self.ends_at, self.cancelled_at or self.ends_at)
