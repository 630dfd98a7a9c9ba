"""The stored response to a request with an Idempotency-Key, for when it is repeated."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now
from typing_extensions import override

from dashboard.models.people import ApiToken


class KeptAnswer(models.Model):
    token = models.ForeignKey(ApiToken, models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    # sha256 of method, URL and body: the same key with another request is refused.
    request = models.BinaryField(max_length=32)
    status = models.PositiveSmallIntegerField()
    content_type = models.CharField(max_length=100)
    # None if it was too large to store.
    body = models.BinaryField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["token", "key"], name="kept_answer_once"),
        ]
        indexes = [models.Index(fields=["created_at"], name="kept_answer_age")]

    @override
    def __str__(self) -> str:
        return f"answer {self.status} to {self.key!r}"
