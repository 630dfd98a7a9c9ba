"""An endpoint told something new about itself: no other key, but it may explain a change."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now
from typing_extensions import override

from dashboard.models.profile import Profile
from dashboard.models.run import Run


class FingerprintChange(models.Model):
    profile = models.ForeignKey(Profile, models.CASCADE, related_name="fingerprint_changes")
    run = models.ForeignKey(Run, models.CASCADE, related_name="fingerprint_changes")
    fact = models.CharField(max_length=60)
    before = models.TextField()
    after = models.TextField()
    at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [
            # The marks of a chart: one profile, a span of time.
            models.Index(fields=["profile", "at"], name="fingerprint_change_chart"),
        ]

    @override
    def __str__(self) -> str:
        return f"{self.fact} of profile {self.profile_id}"
