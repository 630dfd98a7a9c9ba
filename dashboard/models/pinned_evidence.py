"""Evidence that outlives its month, because an incident or a decision rests on it."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now
from typing_extensions import override

from dashboard.models.run import Run


class PinnedEvidence(models.Model):
    sha256 = models.BinaryField(max_length=32, primary_key=True)
    body = models.BinaryField()  # as in Evidence
    size = models.IntegerField()
    created_at = models.DateTimeField(db_default=Now())

    @override
    def __str__(self) -> str:
        return f"pinned evidence {bytes(self.sha256).hex()[:12]}"


class Pin(models.Model):
    """Which attempt was pinned, and why; the attempt itself may be gone by then."""

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
