"""The conditions of the stages: every version that ever held, append-only."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from typing_extensions import override

from health.gates import DEFAULTS, Gates, gates_from_json


class GateVersion(models.Model):
    """The newest holds; before the first, health.gates has what holds by default."""

    # Of health.gates: for each next stage its conditions.
    body = models.JSONField()
    reason = models.TextField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True)
    at = models.DateTimeField(db_default=Now())

    @override
    def __str__(self) -> str:
        return f"gates {self.pk}"

    @classmethod
    def current(cls) -> tuple[GateVersion | None, Gates]:
        """The gates that hold; without a version they are the default ones."""
        version = cls.objects.order_by("-id").first()
        return version, gates_from_json(version.body) if version else DEFAULTS
