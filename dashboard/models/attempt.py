"""One try of one probe. Month partitions; the table itself is made by SQL in the migration."""

from __future__ import annotations

from typing import Self

from django.db import models
from typing_extensions import override

from dashboard.models.run import Run


class AttemptQuerySet(models.QuerySet["Attempt"]):
    def of(self, run: Run) -> Self:
        # run_at lets Postgres look into one partition only.
        return self.filter(run_id=run.pk, run_at=run.created_at)


class Attempt(models.Model):
    pk = models.CompositePrimaryKey("run_id", "probe", "trial", "run_at")
    run = models.ForeignKey(Run, models.DO_NOTHING, related_name="attempts", db_constraint=False)
    probe = models.TextField()
    trial = models.IntegerField()
    # The run's created_at: the partition key, the same for every retry of the same trial.
    run_at = models.DateTimeField()
    token = models.BigIntegerField()  # the lease that wrote it
    outcome = models.TextField()
    findings = models.JSONField()
    verdicts = models.JSONField()  # [[metric, good, parser?], ...]: the observations it leads to
    facts = models.JSONField(default=dict)  # what the capability profile is drawn from
    requests = models.IntegerField(default=1)
    http_status = models.SmallIntegerField(null=True)
    latency_ms = models.IntegerField(null=True)
    first_byte_ms = models.IntegerField(null=True)
    input_tokens = models.IntegerField(null=True)
    output_tokens = models.IntegerField(null=True)
    fingerprint = models.JSONField()
    evidence_sha256 = models.BinaryField(null=True)
    started_at = models.DateTimeField()
    created_at = models.DateTimeField()

    objects = AttemptQuerySet.as_manager()

    class Meta:
        managed = False
        db_table = "dashboard_attempt"

    @override
    def __str__(self) -> str:
        return f"{self.probe} {self.trial} of run {self.run_id}"
