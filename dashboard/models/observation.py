"""Observations: their batches, and rollups by profile, metric, source and time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple
from uuid import UUID

from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from typing_extensions import override

# A time outside of these means a broken clock.
EARLIEST, LATEST = datetime(2000, 1, 3, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)


# A tuple: a frozen dataclass of so many fields takes three times as long to make.
class Observation(NamedTuple):
    """One trial of some metrics: the verdicts are packed by health.observation_bits."""

    profile_id: int
    key_epoch: int
    lane: int
    verdicts: int
    event_at: datetime
    run_id: int | None = None
    client_id: int | None = None
    policy_version: int | None = None
    latency_ms: int | None = None
    first_byte_ms: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    http_status: int | None = None
    end_reason: int | None = None
    request_id: UUID | None = None


COLUMNS = ("at", "batch_id", *Observation._fields)


class ObservationBatch(models.Model):
    """One write of observations. Its rows are stored once and rolled up together."""

    # The writer's own id of the batch: a second delivery is ignored.
    batch = models.UUIDField(unique=True)
    # The SHA-256 of the events as they were sent; null for batches of our own runs.
    digest = models.BinaryField(max_length=32, null=True)
    # Every row of the batch carries the same time, so one batch lies in one partition.
    at = models.DateTimeField(db_default=Now())
    rows = models.PositiveIntegerField()
    rolled_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            # rollups.roll_up and rollups.read_lag.
            models.Index(fields=["id"], condition=Q(rolled_at=None), name="batch_not_rolled"),
            # retention.enforce.
            BrinIndex(fields=["at"], pages_per_range=32, name="batch_at"),
        ]

    @override
    def __str__(self) -> str:
        return f"batch {self.batch}"


class Rollup(models.Model):
    """Trials and failures by profile, metric, source and time. Charts read these, not raw rows.

    The tables are made by SQL in a migration; five minutes and hours come in month partitions.
    """

    pk = models.CompositePrimaryKey("profile_id", "metric", "lane", "bucket")
    profile_id = models.BigIntegerField()
    metric = models.SmallIntegerField()  # its place in health.observation_bits.PLACES
    lane = models.SmallIntegerField()
    bucket = models.DateTimeField()  # when it begins
    trials = models.IntegerField()
    failures = models.IntegerField()

    class Meta:
        abstract = True

    @override
    def __str__(self) -> str:
        return f"metric {self.metric} of profile {self.profile_id} at {self.bucket}"


class Rollup5m(Rollup):
    class Meta:
        managed = False
        db_table = "dashboard_rollup5m"


class RollupHour(Rollup):
    class Meta:
        managed = False
        db_table = "dashboard_rolluphour"


class RollupDay(Rollup):
    class Meta:
        managed = False
        db_table = "dashboard_rollupday"
