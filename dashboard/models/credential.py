"""An endpoint's key, sealed: useless without CREDENTIAL_KEYS, and for any other origin."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now
from typing_extensions import override

from dashboard.models.endpoint import Endpoint


class Credential(models.Model):
    endpoint = models.OneToOneField(Endpoint, models.CASCADE, primary_key=True)
    # scheme://host:port it may be sent to; part of what the seal covers.
    origin = models.CharField(max_length=300)
    sealed = models.BinaryField()
    hint = models.CharField(max_length=4, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    @override
    def __str__(self) -> str:
        return f"credential of {self.endpoint_id}"
