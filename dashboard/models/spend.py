"""What probing an endpoint has cost on one day, what is reserved for its run included."""

from __future__ import annotations

from datetime import UTC

from django.db import models
from django.db.models.functions import Now, TruncDate
from typing_extensions import override

from dashboard.models.endpoint import Endpoint


class SpendQuerySet(models.QuerySet["Spend"]):
    def today(self, endpoint: Endpoint) -> Spend | None:
        """What the endpoint has cost since midnight (UTC)."""
        return self.filter(endpoint=endpoint, day=TruncDate(Now(), tzinfo=UTC)).first()


class Spend(models.Model):
    pk = models.CompositePrimaryKey("endpoint_id", "day")
    endpoint = models.ForeignKey(Endpoint, models.CASCADE, related_name="spends")
    day = models.DateField()  # UTC
    requests = models.PositiveIntegerField()
    tokens = models.PositiveBigIntegerField()

    objects = SpendQuerySet.as_manager()

    @override
    def __str__(self) -> str:
        return f"spend of endpoint {self.endpoint_id} on {self.day}"
