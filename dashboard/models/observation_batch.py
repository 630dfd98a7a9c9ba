"""One write of observations: its rows were stored together, once, and are rolled up together."""

from __future__ import annotations

from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from typing_extensions import override


class ObservationBatch(models.Model):
    # The writer's own name for it: what makes a second delivery harmless.
    batch = models.UUIDField(unique=True)
    # Every row of the batch carries the same time, so one batch lies in one partition.
    at = models.DateTimeField(db_default=Now())
    rows = models.PositiveIntegerField()
    rolled_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            # rollups.roll_up and rollups.lag.
            models.Index(fields=["id"], condition=Q(rolled_at=None), name="batch_not_rolled"),
            # retention.enforce.
            BrinIndex(fields=["at"], pages_per_range=32, name="batch_at"),
        ]

    @override
    def __str__(self) -> str:
        return f"batch {self.batch}"
