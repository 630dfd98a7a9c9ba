"""Attempts and the evidence behind them."""

from __future__ import annotations

from typing import Self

from django.db import models
from django.db.models.functions import Now
from typing_extensions import override

from dashboard.models.run import Run


class AttemptQuerySet(models.QuerySet["Attempt"]):
    def of(self, run: Run) -> Self:
        # run_at lets Postgres look into one partition only.
        return self.filter(run_id=run.pk, run_at=run.created_at)


class Attempt(models.Model):
    """One try of one probe. Partitioned by month; the migration creates the table in SQL."""

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
    facts = models.JSONField(default=dict)  # the input of the capability profile
    requests = models.IntegerField(default=1)
    retried = models.JSONField(default=dict)  # {"429": 2}: answers that were retried, by status
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


class Evidence(models.Model):
    """The exchange behind an attempt: redacted, compressed, stored once per month by hash."""

    pk = models.CompositePrimaryKey("sha256", "month")
    sha256 = models.BinaryField(max_length=32)
    month = models.DateField()  # the month of the run: the partition key
    body = models.BinaryField()  # zstd of the JSON that probes.exchange_evidence writes
    size = models.IntegerField()  # of the JSON
    created_at = models.DateTimeField()

    class Meta:
        managed = False
        db_table = "dashboard_evidence"

    @override
    def __str__(self) -> str:
        return f"evidence {bytes(self.sha256).hex()[:12]}"


class PinnedEvidence(models.Model):
    """Evidence kept beyond its month because an incident or a decision refers to it."""

    sha256 = models.BinaryField(max_length=32, primary_key=True)
    body = models.BinaryField()  # as in Evidence
    size = models.IntegerField()
    created_at = models.DateTimeField(db_default=Now())

    @override
    def __str__(self) -> str:
        return f"pinned evidence {bytes(self.sha256).hex()[:12]}"


class Pin(models.Model):
    """Which attempt was pinned and why. The attempt itself may be deleted later."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="pins")
    probe = models.TextField()
    trial = models.IntegerField()
    run_at = models.DateTimeField()
    evidence = models.ForeignKey(PinnedEvidence, models.PROTECT, db_column="sha256")
    why = models.TextField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "probe", "trial", "why"], name="pin_once"),
        ]

    @override
    def __str__(self) -> str:
        return f"{self.probe} {self.trial} of run {self.run_id}: {self.why}"
