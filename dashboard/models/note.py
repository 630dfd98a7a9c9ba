"""What somebody, or a program of theirs, wrote down about a moment of an endpoint."""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from typing_extensions import override

from dashboard.models.endpoint import Endpoint


class NoteQuerySet(models.QuerySet["Note"]):
    def kept(self) -> Self:
        return self.filter(removed_at=None)

    def newest_first(self) -> Self:
        return self.order_by("-at", "-id")


class Note(models.Model):
    endpoint = models.ForeignKey(Endpoint, models.CASCADE, related_name="notes")
    # The moment it is about.
    at = models.DateTimeField()
    text = models.CharField(max_length=500)
    link = models.CharField(max_length=500, blank=True)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="notes"
    )
    created_at = models.DateTimeField(db_default=Now())
    removed_at = models.DateTimeField(null=True)
    removed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="notes_removed"
    )

    objects = NoteQuerySet.as_manager()

    class Meta:
        indexes = [
            # The marks of a chart and the list beside it: one endpoint, a span of time.
            models.Index(
                fields=["endpoint", "-at"],
                condition=models.Q(removed_at=None),
                name="note_of_endpoint",
            ),
        ]

    @override
    def __str__(self) -> str:
        return f"note {self.pk}"
