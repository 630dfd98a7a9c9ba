"""A run's figures, one row a metric: what charts and the detector read."""

from __future__ import annotations

from typing import Self

from django.db import models
from typing_extensions import override

from dashboard.models.endpoint import Endpoint
from dashboard.models.profile import Profile
from dashboard.models.run import Run


class RunMetricQuerySet(models.QuerySet["RunMetric"]):
    def of(self, endpoint: Endpoint) -> Self:
        return self.filter(profile__endpoint=endpoint)


class RunMetric(models.Model):
    pk = models.CompositePrimaryKey("run_id", "metric")
    run = models.ForeignKey(Run, models.CASCADE, related_name="metrics")
    profile = models.ForeignKey(Profile, models.CASCADE, related_name="metrics")
    metric = models.CharField(max_length=32)
    trials = models.PositiveIntegerField()
    failures = models.PositiveIntegerField()
    # Of the probes that every suite asks: what the detector compares, since other questions are
    # harder or easier. `refused` of all trials were refused by the endpoint.
    watched_trials = models.PositiveIntegerField(db_default=0)
    watched_failures = models.PositiveIntegerField(db_default=0)
    refused = models.PositiveIntegerField(db_default=0)
    finished_at = models.DateTimeField()

    objects = RunMetricQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(trials__gte=1, failures__lte=models.F("trials")),
                name="run_metric_failures_within_trials",
            ),
        ]
        indexes = [
            # A chart: one profile, one metric, a span of time, from the index alone.
            models.Index(
                fields=["profile", "metric", "finished_at"],
                include=["run", "trials", "failures"],
                name="run_metric_chart",
            ),
        ]

    @override
    def __str__(self) -> str:
        return f"{self.metric} of run {self.run_id}"
