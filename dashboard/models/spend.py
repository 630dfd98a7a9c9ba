"""What probing an endpoint has cost on one day, what is reserved for its run included."""

from __future__ import annotations

from django.db import models
from typing_extensions import override

from dashboard.models.endpoint import Endpoint


class Spend(models.Model):
    pk = models.CompositePrimaryKey("endpoint_id", "day")
    endpoint = models.ForeignKey(Endpoint, models.CASCADE, related_name="spends")
    day = models.DateField()  # UTC
    requests = models.PositiveIntegerField()
    tokens = models.PositiveBigIntegerField()

    @override
    def __str__(self) -> str:
        return f"spend of endpoint {self.endpoint_id} on {self.day}"
