"""When each recurring duty was last done, by anybody: how the system page knows it is alive."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now
from typing_extensions import override


class Pulse(models.Model):
    duty = models.CharField(max_length=40, primary_key=True)
    at = models.DateTimeField(db_default=Now())

    @override
    def __str__(self) -> str:
        return self.duty
