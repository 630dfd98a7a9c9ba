"""People: teams, roles, invitations, API tokens, and how often endpoints are tried out."""

from __future__ import annotations

from collections.abc import Collection
from typing import Self, TypeAlias

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower, Now
from django.utils.translation import gettext_lazy as _
from typing_extensions import override

# The teams whose endpoints a person may see; None is all endpoints, also without a team.
Teams: TypeAlias = Collection[int] | None


class Role(models.TextChoices):
    """What a grant gives; administrators are superusers instead, of everything."""

    VIEWER = "viewer", _("Viewer")
    OPERATOR = "operator", _("Operator")
    APPROVER = "approver", _("Approver")


class Team(models.Model):
    """A group of endpoints, visible to its members and to people with a global role."""

    name = models.CharField(max_length=60)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(Lower("name"), name="team_name_once")]

    @override
    def __str__(self) -> str:
        return self.name


class Grant(models.Model):
    """A person's role in one team; without a team, for all endpoints."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="grants")
    team = models.ForeignKey(Team, models.CASCADE, null=True, related_name="grants")
    role = models.CharField(max_length=16, choices=Role)
    given_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="grants_given"
    )
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["person", "team", "role"], nulls_distinct=False, name="grant_once"
            ),
            models.CheckConstraint(condition=Q(role__in=Role.values), name="grant_role_known"),
        ]

    @override
    def __str__(self) -> str:
        return f"{self.role} of team {self.team_id}"


_OPEN = Q(used_at=None, revoked_at=None)


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def open(self) -> Self:
        """Invitations neither used nor revoked. Their people have no password yet."""
        return self.filter(_OPEN)

    def living(self) -> Self:
        """Invitations that still work, by the database's clock."""
        return self.open().filter(expires_at__gt=Now(), person__is_active=True)


class Invitation(models.Model):
    """A link that works once. Only its hash is stored."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="invitations")
    digest = models.BinaryField(max_length=32, unique=True)  # sha256 of the text
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="invitations_made"
    )
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["person"], condition=_OPEN, name="invitation_one_open_each"
            ),
        ]

    @override
    def __str__(self) -> str:
        return f"invitation {self.pk}"


class DrawnPassword(models.Model):
    """Marks a generated password, which must be changed at the first sign-in."""

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="drawn_password"
    )
    # The hash it was stored with: any change of the password makes the two differ.
    stored = models.CharField(max_length=128)

    @override
    def __str__(self) -> str:
        return f"drawn password of person {self.pk}"


class Scope(models.TextChoices):
    READ = "read", _("Read")
    PROBE = "probe", _("Ask for runs and cancel them")
    OPERATE = "operate", _("Change endpoints, modes and notes; ask for the next stage")
    DECIDE = "decide", _("Decide on requests, releases and new normals")
    TELEMETRY = "telemetry", _("Send telemetry")
    GATEWAY = "gateway", _("Use endpoints through the gateway")


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    def newest_first(self) -> Self:
        return self.order_by("-id")

    def seen_by(self, person: User) -> Self:
        """A person's own tokens; administrators see all."""
        return self if person.is_superuser else self.filter(created_by=person)


class ApiToken(models.Model):
    """An API token: named, scoped, revocable, stored only as a hash."""

    # The readable part of the token: it finds the row, and identifies the token to people.
    prefix = models.CharField(max_length=8, unique=True)
    digest = models.BinaryField(max_length=32)  # sha256 of the whole token
    name = models.CharField(max_length=80)
    scopes = models.JSONField()
    # The person who limits its rights; None if a command created it. Deleted with the person or
    # the team: a token must not gain rights because either is gone.
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
        """The part of the token that stays visible after creation."""
        return f"tg_{self.prefix}_…"


class TryCount(models.Model):
    """Counts a person's recent tries of endpoints, across all web processes."""

    person = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True)
    begun_at = models.DateTimeField()
    used = models.PositiveSmallIntegerField()

    @override
    def __str__(self) -> str:
        return f"{self.used} tries since {self.begun_at}"
