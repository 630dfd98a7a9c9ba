"""A mode that is or was on: by an incident, or by a person."""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from typing_extensions import override

from dashboard.models.profile import Profile
from dashboard.models.watch import Incident
from health.modes import Mode


class ModeSwitchQuerySet(models.QuerySet["ModeSwitch"]):
    def on(self) -> Self:
        """Those that hold now, by the database's clock."""
        return self.filter(Q(expires_at=None) | Q(expires_at__gt=Now()), off_at=None)

    def manual(self) -> Self:
        return self.filter(incident=None)


class ModeSwitch(models.Model):
    profile = models.ForeignKey(Profile, models.CASCADE, related_name="switches")
    mode = models.CharField(max_length=24, choices=[(mode.value, mode.value) for mode in Mode])
    # The cause of an automatic one; a manual one has an author and a reason instead.
    incident = models.ForeignKey(Incident, models.CASCADE, null=True, related_name="switches")
    reason = models.TextField()
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="switched_on"
    )
    # The figures and runs that an automatic one rests on.
    figures = models.JSONField(default=dict)
    # Of a manual one: letting go of it takes a second person.
    pinned = models.BooleanField(db_default=False)
    on_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField(null=True)
    off_at = models.DateTimeField(null=True)
    off_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="switched_off"
    )
    off_reason = models.TextField(blank=True)

    objects = ModeSwitchQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["profile", "mode"],
                condition=Q(incident=None, off_at=None),
                name="mode_switch_one_manual",
            ),
            models.UniqueConstraint(
                fields=["incident", "mode"],
                condition=Q(incident__isnull=False, off_at=None),
                name="mode_switch_one_automatic",
            ),
        ]
        indexes = [
            models.Index(fields=["profile"], condition=Q(off_at=None), name="mode_switch_on"),
            # modes.expire: those that run out.
            models.Index(
                fields=["expires_at"],
                condition=Q(off_at=None, expires_at__isnull=False),
                name="mode_switch_expiring",
            ),
        ]

    @override
    def __str__(self) -> str:
        return f"{self.mode} on profile {self.profile_id}"
