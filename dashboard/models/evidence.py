"""The exchange behind an attempt: redacted, compressed, stored once a month by its hash."""

from __future__ import annotations

from django.db import models
from typing_extensions import override


class Evidence(models.Model):
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
