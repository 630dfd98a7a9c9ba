"""What a program shows to use the API: named, scoped, revocable, and stored only as a hash."""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from typing_extensions import override

from dashboard.models.team import Team


class Scope(models.TextChoices):
    READ = "read", _("Read")
    PROBE = "probe", _("Ask for runs and cancel them")
    OPERATE = "operate", _("Change endpoints, modes and notes; ask for the next stage")
    DECIDE = "decide", _("Decide on requests, releases and new normals")
    TELEMETRY = "telemetry", _("Send telemetry")
    GATEWAY = "gateway", _("Use the gateway, once there is one")


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    def newest_first(self) -> Self:
        return self.order_by("-id")

    def seen_by(self, person: User) -> Self:
        """One's own; administrators see everybody's."""
        return self if person.is_superuser else self.filter(created_by=person)


class ApiToken(models.Model):
    # The readable part of the token: it finds the row, and tells people which token they hold.
    prefix = models.CharField(max_length=8, unique=True)
    digest = models.BinaryField(max_length=32)  # sha256 of the whole token
    name = models.CharField(max_length=80)
    scopes = models.JSONField()
    # Whose rights it has at most; none for what a command on the server made. It goes with them:
    # a token must not have more rights because somebody or some team is gone.
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True)
    team = models.ForeignKey(Team, models.CASCADE, null=True, related_name="+")
    created_at = models.DateTimeField(db_default=Now())
    last_used_at = models.DateTimeField(null=True)  # to the minute
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    objects = ApiTokenQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(scopes__contained_by=Scope.values) & ~Q(scopes=[]),
                name="api_token_scopes_known",
            ),
        ]

    @override
    def __str__(self) -> str:
        return f"{self.name} (tg_{self.prefix}_…)"

    @property
    def shown_prefix(self) -> str:
        """As much of the token as anybody may see after it was made."""
        return f"tg_{self.prefix}_…"
