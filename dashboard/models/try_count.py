"""How often a person tried endpoints lately: a bound that holds for all web processes together."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from typing_extensions import override


class TryCount(models.Model):
    person = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True)
    begun_at = models.DateTimeField()
    used = models.PositiveSmallIntegerField()

    @override
    def __str__(self) -> str:
        return f"{self.used} tries since {self.begun_at}"
