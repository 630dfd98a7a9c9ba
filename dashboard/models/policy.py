"""The current policy of each endpoint, and all earlier versions."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now
from typing_extensions import override

from dashboard.models.endpoint import Endpoint


class Policy(models.Model):
    """The resolved policy, one row per endpoint."""

    endpoint = models.OneToOneField(Endpoint, models.CASCADE, primary_key=True)
    # From one sequence for all endpoints, so that it grows even if a slug is reused.
    version = models.BigIntegerField()
    body = models.JSONField()
    # When it must be resolved again: a mode expires, or the profile becomes stale.
    good_until = models.DateTimeField(null=True)
    changed_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [
            models.Index(
                fields=["good_until"],
                condition=models.Q(good_until__isnull=False),
                name="policy_good_until",
            )
        ]

    @override
    def __str__(self) -> str:
        return f"policy {self.version}"


class PolicyVersion(models.Model):
    """Every version that was in force, append-only."""

    version = models.BigIntegerField(primary_key=True)
    endpoint = models.ForeignKey(Endpoint, models.CASCADE, related_name="policy_versions")
    body = models.JSONField()
    at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index(fields=["endpoint", "-version"], name="policy_version_newest")]

    @override
    def __str__(self) -> str:
        return f"policy version {self.version}"
