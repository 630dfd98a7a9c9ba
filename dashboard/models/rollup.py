"""Trials and failures by profile, metric, lane and time: what charts read instead of raw rows.

The tables are made by SQL in a migration; five minutes and hours come in month partitions.
"""

from __future__ import annotations

from django.db import models
from typing_extensions import override


class Rollup(models.Model):
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
