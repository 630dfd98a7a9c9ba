"""When each worker last looked for work: liveness as Postgres sees it."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now
from typing_extensions import override


class Worker(models.Model):
    name = models.CharField(max_length=200, primary_key=True)
    started_at = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField(db_default=Now())
    suite_version = models.CharField(max_length=40, db_default="")

    @override
    def __str__(self) -> str:
        return self.name
