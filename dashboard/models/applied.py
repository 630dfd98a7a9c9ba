"""What the last apply of a file set of an endpoint: what differs now was edited here since."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from typing_extensions import override

from dashboard.models.endpoint import Endpoint


class Applied(models.Model):
    endpoint = models.OneToOneField(
        Endpoint, models.CASCADE, primary_key=True, related_name="applied"
    )
    # In the words of the file, as dashboard/endpoints/as_code/fields.py writes them.
    fields = models.JSONField()
    at = models.DateTimeField(db_default=Now())
    # Nobody where the command line did it.
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)

    @override
    def __str__(self) -> str:
        return f"what a file says of {self.endpoint_id}"
